"""What copies take here and what that means for a step, for the terminal: `stepprof audit --measure`."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepprof.profiler.audit_effect import Effect
from stepprof.profiler.audit_measure import Measured
from stepprof.profiler.report.terminal import paragraph


def show_measured(out: Console, found: list[Measured]) -> None:
    """One line a figure."""
    out.print("measured here")
    for fact in found:
        where = f"{fact.name} [{fact.gpu}]"
        out.print(Text(f"{where:44}{fact.value:10.2f} {fact.unit:5} {fact.bytes:,} bytes"))


def show_effect(out: Console, source: str, effect: Effect) -> None:
    """Copies of a step, what they take at most, and the verdict."""
    out.print(Text(f"{source}: step p50 {effect.step_us / 1e3:.3f} ms, {effect.calls:g} sidecar calls a step"))
    for way in effect.ways:
        there = "" if way.there_us is None else f", there {way.there_us:.1f} µs"
        line = f"{way.way:14}{way.copies:8.1f} copies {way.bytes:14,.0f} bytes: at most {way.here_us:.1f} µs{there}"
        out.print(Text(line))
    paragraph(out, f"{effect.verdict} (modelled: every copy taken as exposed)", indent=0)
