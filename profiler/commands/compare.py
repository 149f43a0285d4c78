"""stepprof compare: two arms of launches side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.compare.comparison import Sample, compared, sample_of
from stepprof.profiler.commands.launch_files import opened_launch
from stepprof.profiler.commands.shared import Json, Marker, Method, Rules, print_json
from stepprof.profiler.errors import Refused, UsageError
from stepprof.profiler.report import terminal
from stepprof.profiler.report.document_compare import comparison_document
from stepprof.profiler.report.terminal_compare import show_comparison

app = typer.Typer()

WarmUp = Annotated[
    int, typer.Option(min=0, help="Leave out this many steps of each launch, beside the long first ones.")
]


def spelled(argv: list[str]) -> list[str]:
    """`compare A1 A2 --vs B1 B2` (report too): the parser wants --vs before each of its files."""
    if argv[:1] not in (["compare"], ["report"]) or "--vs" not in argv:
        return argv
    at = argv.index("--vs")
    rest = argv[at + 1 :]
    count = next((i for i, word in enumerate(rest) if word.startswith("-")), len(rest))
    return argv[:at] + [word for file in rest[:count] for word in ("--vs", file)] + rest[count:]


@app.command()
def compare(
    control: Annotated[list[Path], typer.Argument(metavar="CONTROL...", help="Launches of the unchanged setup.")],
    vs: Annotated[list[Path], typer.Option("--vs", metavar="CANDIDATE...", help="Launches of the changed setup.")],
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    warm_up: WarmUp = 0,
    json: Json = False,
) -> None:
    """Compare launches (runs, traces, stepprof run --json): the change of a step, its interval, where it went."""
    question = Question(marker, method, rules)
    _check_files(control, vs)
    found = compared(*([_sample(path, question, warm_up) for path in arm] for arm in (control, vs)))
    print_json(comparison_document(found)) if json else show_comparison(terminal.console(), found)
    if found.outcome == "refused":
        raise Refused(found.reason)


def _check_files(control: list[Path], candidate: list[Path]) -> None:
    """One file is one launch: given twice it would count twice."""
    seen = [path.resolve() for path in (*control, *candidate)]
    twice = next((path for path in seen if seen.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice.name} is given twice: each launch counts once.")


def _sample(path: Path, question: Question, warm_up: int) -> Sample:
    with opened_launch(path, question, warm_up) as launch:
        return sample_of(launch)
