"""stepprof steps, breakdown and roles: where the time of a step goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import By
from stepprof.analyses.role_table import role_table
from stepprof.analyses.selection import chosen_steps
from stepprof.analyses.sidecar.answer import SidecarQuestion, sidecar
from stepprof.analyses.sidecar.bandwidth import read_bandwidth
from stepprof.analyses.sidecar.classes import beside_runs
from stepprof.analyses.sidecar.floor import Quoted
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.profiler.commands.shared import (
    Json,
    Marker,
    Method,
    Rules,
    StepNumber,
    StepSlice,
    Trace,
    attributed,
    opened,
    print_json,
    source_of,
)
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import document, document_sidecar, terminal, terminal_sidecar
from stepprof.profiler.store import Store

app = typer.Typer()

Bandwidth = Annotated[
    str | None,
    typer.Option(
        metavar="GBPS or FILE.json",
        help="Memory bandwidth of the second card: GB/s, or the file of stepprof bench sidecar -o that measured it.",
    ),
]


@app.command()
def steps(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List the steps of a trace: how they were found, their windows, what is doubtful."""
    with opened(trace) as store:
        found = attributed(store, Question(marker, method, rules))
        if json:
            print_json(document.steps_document(found.steps, found.warnings, found.inflation))
        else:
            terminal.show_steps(terminal.console(), source_of(store), found.steps, found.warnings)
            terminal.show_inflation(terminal.console(), found.inflation)


@app.command("breakdown")
def breakdown_(
    trace: Trace,
    by: Annotated[By, typer.Option(help="What the rows are.")] = "role",
    step: StepNumber = None,
    steps: StepSlice = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
    csv: Annotated[Path | None, typer.Option(help="Also write the rows (or calls) to this CSV file.")] = None,
    sidecar: Annotated[bool, typer.Option("--sidecar", help="The calls of the second card, one by one.")] = False,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", metavar="NAME=TRACE", help="Further runs to set beside this one, by all their whole steps."
        ),
    ] = None,
    expert_bytes: Annotated[float | None, typer.Option(help="Bytes of one expert's weights, for floors.")] = None,
    bandwidth: Bandwidth = None,
) -> None:
    """Show where the steps' time goes: exposed, hidden, busy, work and gaps; or --sidecar, call by call."""
    if sidecar:
        if by != "role":
            raise UsageError(f"--by {by} says nothing of --sidecar: leave one of them out.")
        question = SidecarQuestion(rules, quoted(expert_bytes, bandwidth))
        _show_sidecar(trace, Question(marker, method, rules), question, (step, steps), classes or [], csv, json)
        return
    if classes or expert_bytes is not None or bandwidth is not None:
        raise UsageError("--class, --expert-bytes and --bandwidth belong to --sidecar: add it.")
    with opened(trace) as store:
        found = attributed(store, Question(marker, method, rules))
        result = breakdown(found, by, chosen_steps(found.steps, step, steps))
        if csv:
            document.write_text(csv, document.breakdown_csv(result))
        if json:
            print_json(document.breakdown_document(result))
        else:
            terminal.show_breakdown(terminal.console(), source_of(store), result)


def quoted(expert_bytes: float | None, bandwidth: str | None) -> Quoted:
    """What the user says of the sidecar; UsageError where it is no amount."""
    if expert_bytes is not None and not 0 < expert_bytes < float("inf"):
        raise UsageError(f"--expert-bytes {expert_bytes:g} is no amount: give a number above 0.")
    return Quoted(expert_bytes, None if bandwidth is None else read_bandwidth(bandwidth))


def _show_sidecar(
    trace: Path,
    question: Question,
    of_sidecar: SidecarQuestion,
    picked: tuple[int | None, str | None],
    classes: list[str],
    csv: Path | None,
    json: bool,
) -> None:
    with opened(trace) as store:
        answer, source = _sidecar(store, question, of_sidecar, picked), source_of(store)
    answer = beside_runs(answer, [_class(text, question, of_sidecar) for text in classes])
    if csv:
        document.write_text(csv, document_sidecar.calls_csv(answer))
    if json:
        print_json(document_sidecar.sidecar_document(answer))
    else:
        terminal_sidecar.show_sidecar(terminal.console(), source, answer)


def _sidecar(
    store: Store, question: Question, of_sidecar: SidecarQuestion, picked: tuple[int | None, str | None]
) -> Sidecar:
    found = attributed(store, question)
    return sidecar(store, found, chosen_steps(found.steps, *picked), of_sidecar)


def _class(text: str, question: Question, of_sidecar: SidecarQuestion) -> tuple[str, Sidecar]:
    """NAME=TRACE as the name and the trace's answer."""
    name, equals, trace = text.partition("=")
    if not (name and equals and trace):
        raise UsageError(f"--class {text} names no run: write --class NAME=TRACE.")
    with opened(Path(trace)) as store:
        return name, _sidecar(store, question, of_sidecar, (None, None))


@app.command()
def roles(trace: Trace, marker: Marker = None, method: Method = None, rules: Rules = None, json: Json = False) -> None:
    """List op names with role, kind and the rule that decided; doubtful ones first."""
    with opened(trace) as store:
        found = attributed(store, Question(marker, method, rules))
        rows = role_table(found)
        if json:
            print_json(document.roles_document(found, rows))
        else:
            terminal.show_roles(terminal.console(), source_of(store), rows)
            terminal.show_inflation(terminal.console(), found.inflation)
            terminal.show_warnings(terminal.console(), found.warnings)
