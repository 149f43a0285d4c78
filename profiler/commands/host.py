"""stepprof audit: what this host lets decode do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from stepprof.analyses.attribution import Question
from stepprof.analyses.sidecar.crossings import Crossings, crossings
from stepprof.profiler.audit import audit, audit_document
from stepprof.profiler.audit_cuda import opened_cards
from stepprof.profiler.audit_effect import Crossing, Effect, copy_effect, read_measured
from stepprof.profiler.audit_measure import Measured, measured, measured_document, ways
from stepprof.profiler.commands.shared import Json, Marker, opened, print_json, source_of
from stepprof.profiler.errors import UsageError
from stepprof.profiler.report import terminal, terminal_audit
from stepprof.profiler.report.document import inflation_fields

app = typer.Typer()

Measure = Annotated[
    bool, typer.Option("--measure", help="Also measure copies between host and cards; needs a GPU, sets nothing.")
]
StepsOf = Annotated[
    Path | None, typer.Option("--trace", help="With --measure: what copies are to a step of this trace.")
]
Against = Annotated[
    Path | None, typer.Option(help="With --trace: a document of audit --measure --json made with another setting.")
]


@app.command("audit")
def audit_(
    measure: Measure = False,
    trace: StepsOf = None,
    against: Against = None,
    marker: Marker = None,
    json: Json = False,
) -> None:
    """Tell what this host lets one- and two-card decode do; never sets anything, needs neither GPU nor root."""
    if (trace is not None and not measure) or (against is not None and trace is None):
        raise UsageError("--trace needs --measure, and --against needs --trace: add it.")
    there = None if against is None else read_measured(against)
    source, found = ("", None) if trace is None else _crossings(trace, marker)
    here = _measured() if measure else []
    effect = None if found is None else _effect(here, found, there)
    facts = audit()
    if json:
        extra = {"measured": measured_document(here), "effect": _told(effect, found)} if measure else {}
        print_json(audit_document(facts) | extra)
        return
    out = terminal.console()
    terminal.show_audit(out, facts)
    if measure:
        terminal_audit.show_measured(out, here)
    if effect is not None and found is not None:
        terminal_audit.show_effect(out, terminal.clean(source), effect)
        terminal.show_inflation(out, found.inflation)


def _measured() -> list[Measured]:
    with opened_cards() as cards:
        return measured(ways(cards))


def _crossings(trace: Path, marker: str | None) -> tuple[str, Crossings]:
    with opened(trace) as store:
        return source_of(store), crossings(store, Question(marker))


def _told(effect: Effect | None, found: Crossings | None) -> dict[str, Any] | None:
    """The effect, and what tracing did to the steps that it is of."""
    return asdict(effect) | inflation_fields(found.inflation) if effect and found else None


def _effect(here: list[Measured], found: Crossings, there: list[Measured] | None) -> Effect:
    copied = [Crossing(way, count, found.bytes[way]) for way, count in found.copies.items()]
    return copy_effect(here, found.step_us, found.calls, copied, there)
