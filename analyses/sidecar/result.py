"""The answer of `stepprof breakdown --sidecar` as plain data: what tests build, the CLI prints and reports draw.

Times are µs, means over calls unless a name says otherwise; None where the trace does not say. All are
measured, but floors and headroom, which are modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.sidecar.fit import Fits


@dataclass(frozen=True)
class PhaseKinds:
    """One phase of a call, and what its ops do; mean µs a call."""

    phase: str
    mean_us: float
    kinds: dict[str, float]


@dataclass(frozen=True)
class Group:
    """Calls of one number of rows, or all of them."""

    rows: int | None
    calls: int
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float
    mean_us: float
    phases_mean_us: dict[str, float]
    kinds_mean_us: dict[str, float]
    phase_kinds_mean_us: dict[str, dict[str, float]]  # kinds of a phase add up to it, the largest first
    parts_mean_us: dict[str, float]  # copying, computing, gaps; they add up to the mean
    floor_us: float | None
    join_wait_us: float
    join_wait_us_per_step: float  # of calls with one join only the longest wait counts, so groups add up to the step's
    away_us: float | None


@dataclass(frozen=True)
class LayerWait:
    """Waits of one layer; main ready and sidecar count from where the call left the main card's work."""

    layer: int | None
    rows: float | None
    calls: int
    main_ready_us: float
    sidecar_us: float
    join_wait_us: float
    join_wait_us_per_step: float  # as it counts for the step: layers add up to the step's
    below_bound: int  # calls whose wait is shorter than the clocks can tell


@dataclass(frozen=True)
class StepWait:
    """Waits of one step, integer ns."""

    step: int
    calls: int
    join_wait_ns: int
    away_ns: int
    below_bound: int  # calls whose wait is shorter than the clocks can tell


@dataclass(frozen=True)
class ClassWait:
    """Calls of one class of prompts, or of one run given by --class; per step."""

    name: str
    own_run: bool  # given by --class
    steps: int
    steps_used: str  # their indices as A:B, B not included
    calls: float
    mean_rows: float | None
    skipped_share: float | None
    p50_us: float | None
    join_wait_us: float
    away_us: float
    tracing_inflation: float | None = None  # of a run given by --class: traced over untraced step time


@dataclass(frozen=True)
class CallRow:
    """One call, for the table of calls."""

    step: int
    layer: int | None
    card: int | None
    rows: int | None
    experts: int | None
    class_: str | None
    start_ns: int
    call_ns: int
    main_ready_ns: int | None
    sidecar_ns: int | None
    join_wait_ns: int
    counted_wait_ns: int  # as it counts for the step: of calls with one join only the longest wait does
    below_bound: bool
    away_ns: int | None


@dataclass(frozen=True)
class Sidecar:
    """The answer (DESIGN, CLI contract), and what a person is told beside it."""

    steps: int
    calls: int
    empty_calls: int
    skipped_share: float | None
    all: Group
    per_rows: list[Group]
    phases: list[PhaseKinds]
    join_wait_us_per_step: float
    held_us_per_step: float  # join waits and the wake-ups after them: what a sidecar at zero time would save
    away_us_per_step: float
    by_layer: list[LayerWait]
    by_step: list[StepWait]
    classes: list[ClassWait]
    fits: Fits
    headroom_us: float | None
    headroom_said: str
    floor_said: str
    clock_offset_bound_ns: int | None
    clock_offset_ns: tuple[int, int] | None  # the other card's clock is ahead of the main card's by so much
    clocks_apart_ns: int  # how far they are apart at least; 0 where they may agree
    corrected_wait_us: tuple[float, float] | None  # join wait a step without that offset; None where they may agree
    below_bound: int
    waits_said: list[str]
    source: str
    rows_from: str | None
    rows_captured: bool  # marks that tell rows were open when a graph was captured, not in these steps
    table: list[CallRow]
    inflation: TracingInflation | None  # what tracing did to the steps
    warnings: list[dict[str, Any]]

    @property
    def clocks_said(self) -> str | None:
        """How far the clocks of the cards are apart, and what `<` means; None where they cannot be compared."""
        bound = self.clock_offset_bound_ns
        if bound is None:
            return None
        if self.clocks_apart_ns:
            return f"clocks of the cards are {self.clocks_apart_ns:,} to {bound:,} ns apart; waits shorter than that carry a <"
        return f"clocks of the cards agree within {bound:,} ns; shorter waits carry a <"

    @property
    def rows_said(self) -> str:
        """Where the numbers of rows come from, in words."""
        if self.rows_from is None:
            return "rows unknown"
        return f"rows by {self.rows_from}{' (as captured)' if self.rows_captured else ''}"
