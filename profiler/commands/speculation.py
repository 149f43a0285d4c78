"""stepprof speculate: what drafting gives, and what another k or another step would."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.speculation.answer import Ask, speculate
from stepprof.analyses.speculation.draft_lanes import Given
from stepprof.analyses.speculation.draft_log import logged_records
from stepprof.analyses.speculation.forecasts import Draft
from stepprof.analyses.speculation.step_records import Records, TracedStep, has_facts, traced_records, traced_step
from stepprof.profiler.commands.shared import Json, Marker, Method, Rules, opened, print_json
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import document, terminal
from stepprof.profiler.report.terminal_speculation import show_speculation

app = typer.Typer()

MOST = 64  # drafts of one step


@app.command("speculate")
def speculate_(
    trace: Annotated[Path | None, typer.Argument(help="A run or a trace imported with --facts.")] = None,
    draft: Annotated[
        Path | None, typer.Option(metavar="LOG.csv", help="Steps as CSV: drafted,kept,class,step_ms.")
    ] = None,
    kept: Annotated[float | None, typer.Option(help="Kept tokens a step, the one after the drafts included.")] = None,
    step_ms: Annotated[float | None, typer.Option(help="Step time, ms.")] = None,
    k: Annotated[int | None, typer.Option(min=0, max=MOST, help="Drafts of a step today.")] = None,
    acceptance: Annotated[
        str | None, typer.Option(help="Share of steps that keep the first 1, 2, … drafts: 0.9,0.7.")
    ] = None,
    row_ms: Annotated[float | None, typer.Option(help="Cost of one more draft row, ms.")] = None,
    to: Annotated[str | None, typer.Option(help="Other k to forecast: 3,7.")] = None,
    block: Annotated[int | None, typer.Option(min=1, max=MOST, help="Drafts the head was trained to propose.")] = None,
    drafts: Annotated[Literal["sequential", "block"], typer.Option(help="How drafts are made.")] = "sequential",
    verify: Annotated[Literal["token", "block"], typer.Option(help="How drafts are verified.")] = "token",
    table: Annotated[str | None, typer.Option(help="Step times of the table, ms: 9,8,7.5.")] = None,
    rate: Annotated[str | None, typer.Option(help="Rate to reach, tokens/s: 703.")] = None,
    marker: Marker = None,
    method: Method = None,
    rules: Rules = None,
    json: Json = False,
) -> None:
    """Tell tokens/s from kept tokens and step time, what another k would give, and at which step it ties."""
    given = Given(
        _positive("--kept", kept), _positive("--step-ms", step_ms), k, _list("--acceptance", acceptance, 0), row_ms
    )
    if row_ms is not None and not math.isfinite(row_ms):
        raise UsageError("--row-ms must be a number.")
    ask = Ask(_ks(to), _list("--table", table) or (), _list("--rate", rate) or (), Draft(drafts, verify, block))
    records, step = _recorded(trace, draft, given, Question(marker, method, rules))
    result = speculate(ask, given, records, step)
    print_json(document.plain_document(result)) if json else show_speculation(terminal.console(), result)


def _recorded(
    trace: Path | None, draft: Path | None, given: Given, question: Question
) -> tuple[Records | None, TracedStep | None]:
    """Steps of a trace or a log, or the step time of a trace without facts; neither where figures are given instead."""
    bare = given.kept is None and given.acceptance is None
    if trace is not None and draft is not None:
        raise UsageError("TRACE and --draft exclude each other: give one of them.")
    if draft is not None:
        return logged_records(draft), None
    if trace is not None:
        with opened(trace) as store:
            if bare or has_facts(store):
                return traced_records(store, question), None
            return None, traced_step(store, question)
    if bare:
        raise UsageError("give a TRACE with facts, --draft LOG.csv, or --kept (or --acceptance) with --k.")
    return None, None


def _ks(text: str | None) -> tuple[int, ...]:
    values = _list("--to", text, 0) or ()
    if any(value != int(value) or value > MOST for value in values):
        raise UsageError(f"--to takes whole numbers from 0 to {MOST}: 3,7.")
    return tuple(int(value) for value in values)


def _list(option: str, text: str | None, least: float | None = None) -> tuple[float, ...] | None:
    """Numbers with commas between; above 0, or at least `least`."""
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text!r}: write numbers with commas between.") from None
    for value in values:
        if not math.isfinite(value) or (value <= 0 if least is None else value < least):
            raise UsageError(
                f"{option} {text!r}: every number must be {'above 0' if least is None else f'at least {least:g}'}."
            )
    return values


def _positive(option: str, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise UsageError(f"{option} {value} must be above 0.")
    return value
