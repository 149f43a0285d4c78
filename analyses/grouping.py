"""Launches grouped into steps, by whichever method: what steps.py makes windows of."""

from __future__ import annotations

from dataclasses import dataclass

from stepprof.analyses.ops import Ints


@dataclass(frozen=True)
class Grouping:
    """Steps by start; `of_launch` is the step of each launch, UNKNOWN outside steps."""

    method: str
    confidence: float
    label: list[str]
    phase: list[str | None]
    host_start: Ints  # of the marker, ns; UNKNOWN without one
    host_end: Ints
    of_launch: Ints
    incomplete: tuple[int, ...] = ()  # steps known to be no whole step
