"""stepprof whatif: what proposed changes would really buy, what could be proposed, and how good that has been."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from stepprof.analyses.attribution import Question
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.selection import chosen_steps
from stepprof.analyses.toml_entries import nearest
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.proposal_model import Proposal
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.scores import DEFAULT
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.analyses.whatif.suggest import MOST, suggest
from stepprof.analyses.whatif.suggest_toml import suggestions_toml
from stepprof.analyses.whatif.track_record import track_record
from stepprof.profiler.commands import whatif_score as record
from stepprof.profiler.commands.shared import Json, Marker, Method, Rules, StepSlice, attributed, opened, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.document_scores import suggestions_document
from stepprof.profiler.report.progress import working
from stepprof.profiler.report.terminal_suggest import show_suggestions
from stepprof.profiler.report.terminal_whatif import show_whatif

app = typer.Typer()

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="TRACE PROPOSALS.toml", help="A trace and a TOML file of proposals; --score: AFTER too."),
]
Suggest = Annotated[bool, typer.Option("--suggest", help="List fusions of small ops that repeat layer by layer.")]
Most = Annotated[int, typer.Option(min=1, max=100, help="With --suggest: rows at most.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="With --suggest: also write them as proposals.")]
PredictOnly = Annotated[bool, typer.Option("--predict-only", help="Put predictions on record, to be scored later.")]
Score = Annotated[
    bool, typer.Option("--score", help="Hold a prediction against the measured change; takes BEFORE and AFTER.")
]
Scores = Annotated[bool, typer.Option("--scores", help="Show the track record.")]
ScoresFile = Annotated[Path, typer.Option(help="Where predictions and scores are kept.")]
Name = Annotated[list[str] | None, typer.Option("--proposal", help="The proposal to predict or score, by name.")]
Control = Annotated[list[Path] | None, typer.Option(help="Launches of the unchanged program, for step times.")]
Candidate = Annotated[list[Path] | None, typer.Option(help="Launches of the changed program.")]
Nodes = Annotated[Path | None, typer.Option(help="Node costs measured by stepprof bench nodes --json.")]
Kept = Annotated[float | None, typer.Option(help="Kept tokens a step, the one after the drafts included.")]
K = Annotated[int | None, typer.Option(min=0, help="Drafts of a step today.")]
Table = Annotated[str | None, typer.Option(help="Step times of the table, ms: 9,8,7.5.")]
Rate = Annotated[str | None, typer.Option(help="Rate to reach, tokens/s: 703.")]


@app.command("whatif")
def whatif_(
    files: Files = None,
    suggest: Suggest = False,
    most: Most = MOST,
    output: Output = None,
    predict_only: PredictOnly = False,
    score: Score = False,
    scores: Scores = False,
    scores_file: ScoresFile = DEFAULT,
    proposal: Name = None,
    control: Control = None,
    candidate: Candidate = None,
    nodes: Nodes = None,
    kept: Kept = None,
    k: K = None,
    table: Table = None,
    rate: Rate = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
) -> None:
    """Replay the steps with each proposed change: the step it would give, what is hidden today, its gate."""
    mode = _mode(suggest=suggest, predict_only=predict_only, score=score, scores=scores)
    if mode == "scores":
        record.show_record(scores_file, json)
        return
    named = record.named_files(files or [], mode, bool(candidate))
    keeping = record.Keeping(named, scores_file, tuple(control or ()), tuple(candidate or ()))
    if named.proposals is None and mode == "score":
        record.show_scored(record.score_recorded(keeping, _one(proposal)), json)
        return
    wanted = _chosen(read_proposals(named.proposals), proposal) if named.proposals else ()
    figures = Figures(_positive(kept), k, nodes, _list("--table", table), _list("--rate", rate))
    graph, settings, untraced = _asked(named.trace, figures, Question(marker, method, rules), steps)
    if mode == "suggest":
        _suggest(graph, settings, most, output, json)
        return
    with working(f"replaying {len(wanted)} proposals"):
        result = evaluate(graph, wanted, settings)
    if mode == "predict-only":
        before = record.step_before(result, keeping, untraced)
        made = record.predict(result, keeping, before.step_ms)
        record.show_predicted(made, result, scores_file, before, json)
    elif mode == "score":
        record.show_scored(record.score_anew(result, keeping, _one(proposal)), json)
    elif json:
        print_json(document.plain_document(result) | {"track_record": track_record(scores_file)})
    else:
        out = terminal.console()
        show_whatif(out, result)
        out.print(textwrap.fill(track_record(scores_file), terminal.WIDTH))


def spelled(argv: list[str]) -> list[str]:
    """`whatif … --control A B`: the parser wants --control before each of its files."""
    if argv[:1] != ["whatif"]:
        return argv
    made, many = list[str](), ""
    for word in argv:
        if word.startswith("-"):
            many = word if word in ("--control", "--candidate") else ""
            made += [] if many else [word]
        else:
            made += [many, word] if many else [word]
    return made


def _mode(**flags: bool) -> str:
    """The one thing that is asked for."""
    given = [name.replace("_", "-") for name, flag in flags.items() if flag]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other: give one of them.")
    return given[0] if given else "answer"


def _asked(
    trace: Path, figures: Figures, question: Question, steps: str | None
) -> tuple[StepGraph, Settings, float | None]:
    """The graph, what is known beside it, and the untraced step where the run has one, ms."""
    with opened(trace) as store:
        found = attributed(store, question)
        with working("building the dependency graph"):
            graph = build_graph(found, store, chosen_steps(found.steps, None, steps))
        return graph, settings_of(store, found, graph, figures, question), record.untraced_step(store)


def _suggest(graph: StepGraph, settings: Settings, most: int, output: Path | None, json: bool) -> None:
    found = suggest(graph, settings, most)
    text = suggestions_toml(found)
    if output is not None:
        document.write_text(output, text)
    if json:
        print_json(suggestions_document(found, text))
        return
    out = terminal.console()
    show_suggestions(out, found)
    if output is None and found.rows:
        out.print()
        out.print(Text(text), end="")


def _chosen(proposals: Sequence[Proposal], names: list[str] | None) -> Sequence[Proposal]:
    """Those that are named, in the order of the file; all where none is."""
    known = [proposal.name for proposal in proposals]
    for name in names or ():
        if name not in known:
            raise UsageError(f'no proposal is named "{name}": {nearest(name, known)}.')
    return [proposal for proposal in proposals if not names or proposal.name in names]


def _one(names: list[str] | None) -> str:
    if not names or len(names) > 1:
        raise UsageError("--score takes one prediction: name it with --proposal NAME.")
    return names[0]


def _positive(kept: float | None) -> float | None:
    if kept is not None and not (math.isfinite(kept) and kept > 0):
        raise UsageError(f"--kept {kept} must be above 0.")
    return kept


def _list(option: str, text: str | None) -> tuple[float, ...]:
    """Numbers above 0 with commas between; none where the option is not given."""
    try:
        values = tuple(float(part) for part in text.split(",")) if text is not None else ()
    except ValueError:
        values = (0.0,)
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise UsageError(f"{option} {text!r}: write numbers above 0 with commas between.")
    return values
