"""From the step times of launches and one trace of each mode to the rows of benchmarks/overhead.py: arithmetic alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stepprof.kernels.intervals import ratio


@dataclass(frozen=True)
class Traced:
    """What one trace says of a part, means a step; bytes are those of the recording."""

    steps: int
    ops: float
    span_us: float  # first op's start to last op's end
    work_us: float  # sum of durations
    dropped: int | None  # records lost, None where the tool does not tell
    record_bytes_per_op: float | None
    run_bytes_per_op: float | None


@dataclass
class Cell:
    """All launches of one part in one mode; times in ms, medians of a launch."""

    walls: list[float] = field(default_factory=list[float])
    spans: list[float] = field(default_factory=list[float])
    span_of: str = ""
    traced: Traced | None = None
    faults: list[str] = field(default_factory=list[str])

    def add(self, part: dict[str, Any]) -> None:
        """One launch, as the workload printed it."""
        self.walls.append(statistics.median(part["wall_ms"]))
        self.span_of = part["span_of"]
        if part["span_ms"]:
            self.spans.append(statistics.median(part["span_ms"]))


def row(workload: str, part: str, mode: str, cell: Cell, untraced: Cell, nsys: Cell | None = None) -> dict[str, Any]:
    """One row of the receipt; ratios are None with fewer than two launches on each side.

    `step_against_nsys` is the mode's step over nsys's: above 1 where it costs more.
    """
    found: dict[str, Any] = {
        "workload": workload,
        "part": part,
        "mode": mode,
        "launches": len(cell.walls),
        "step_ms": [round(value, 5) for value in cell.walls],
        "span_ms": [round(value, 5) for value in cell.spans],
        "span_of": cell.span_of or None,
        "faults": cell.faults,
    }
    if mode != "untraced":
        found["step_inflation"] = ratio(cell.walls, untraced.walls)
        found["span_inflation"] = ratio(cell.spans, untraced.spans)
    if mode in ("collector", "torch") and nsys is not None:
        found["step_against_nsys"] = ratio(cell.walls, nsys.walls)
    return found | _trace_figures(cell, untraced)


def cell_of(found: dict[str, Any]) -> Cell:
    """The cell that a row of a receipt was made from."""
    cell = Cell(list(found["step_ms"]), list(found["span_ms"]), found["span_of"] or "", faults=list(found["faults"]))
    if "ops_per_step" in found:
        cell.traced = Traced(
            found["traced_steps"],
            found["ops_per_step"],
            found["traced_span_us"],
            found["kernel_duration_us"] * found["ops_per_step"],
            found["dropped_records"],
            found["record_bytes_per_op"],
            found["run_bytes_per_op"],
        )
    return cell


def _trace_figures(cell: Cell, untraced: Cell) -> dict[str, Any]:
    """What only a trace shows; `kernel_period_change` holds its start-to-start time against the untraced one."""
    traced = cell.traced
    if traced is None:
        return {}
    period = traced.span_us / traced.ops
    plain = _untraced_period_us(untraced, traced.ops)
    return {
        "traced_steps": traced.steps,
        "ops_per_step": traced.ops,
        "traced_span_us": traced.span_us,
        "kernel_duration_us": traced.work_us / traced.ops,
        "kernel_period_us": period,
        "kernel_period_change": None if plain is None else period / plain,
        "dropped_records": traced.dropped,
        "record_bytes_per_op": traced.record_bytes_per_op,
        "run_bytes_per_op": traced.run_bytes_per_op,
    }


def _untraced_period_us(untraced: Cell, ops: float) -> float | None:
    """µs an op inside the graph without a tool; only events inside the graph tell."""
    if untraced.span_of != "graph" or not untraced.spans:
        return None
    return statistics.median(untraced.spans) * 1e3 / ops


def order(number: int, cells: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The round robin: every other round backwards, so that a drift meets all modes."""
    return list(cells) if number % 2 == 0 else list(cells)[::-1]


def fits(past: Sequence[float], same_workload: Sequence[float], left_s: float) -> bool:
    """Whether one more launch is likely to end in time: as long as the longest before it, 10 s where none was."""
    return max(past or same_workload or [10.0]) <= left_s
