"""stepprof whatif: what proposed changes would really buy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question, attribute
from stepprof.analyses.critical_path import build_graph
from stepprof.analyses.proposals import read_proposals
from stepprof.analyses.selection import chosen_steps
from stepprof.analyses.whatif import evaluate
from stepprof.analyses.whatif_settings import Figures, settings_of
from stepprof.profiler.commands.shared import Json, Marker, Method, Rules, StepSlice, Trace, opened, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.terminal_whatif import show_whatif

app = typer.Typer()


@app.command("whatif")
def whatif_(
    trace: Trace,
    proposals: Annotated[Path, typer.Argument(help="TOML file of proposals.")],
    nodes: Annotated[Path | None, typer.Option(help="Node costs measured by stepprof bench nodes --json.")] = None,
    kept: Annotated[float | None, typer.Option(help="Kept tokens a step, the one after the drafts included.")] = None,
    k: Annotated[int | None, typer.Option(min=0, help="Drafts of a step today.")] = None,
    table: Annotated[str | None, typer.Option(help="Step times of the table, ms: 9,8,7.5.")] = None,
    rate: Annotated[str | None, typer.Option(help="tokens/s to reach: 703.")] = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
) -> None:
    """Replay the steps with each proposed change: the step it would give, what is hidden today, its gate."""
    wanted = read_proposals(proposals)
    figures = Figures(_positive(kept), k, nodes, _list("--table", table), _list("--rate", rate))
    question = Question(marker, method, rules)
    with opened(trace) as store:
        found = attribute(store, question)
        graph = build_graph(found, store, chosen_steps(found.steps, None, steps))
        result = evaluate(graph, wanted, settings_of(store, found, graph, figures, question))
    print_json(document.plain_document(result)) if json else show_whatif(terminal.console(), result)


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
