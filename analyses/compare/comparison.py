"""Two arms of launches side by side: is the candidate's step shorter, by how much, and where it went.

    found = compared(control, candidate)        # Samples, one a launch
    found.delta.estimate, found.delta.low, found.delta.high, found.outcome

The launch is the unit: a thousand steps of one launch say nothing of how launches vary, so that one
launch an arm gives figures but no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stepprof.analyses.compare.launches import Launch
from stepprof.analyses.compare.metrics import Reading, steady, throughput_cells
from stepprof.analyses.compare.op_deltas import OpDeltas, op_deltas
from stepprof.analyses.compare.row_deltas import RowDelta, row_delta, row_deltas
from stepprof.analyses.compare.settings import Difference, differences
from stepprof.analyses.compare.typical_step import Profile, profile_of
from stepprof.analyses.inflation import TracingInflation, beyond, farthest
from stepprof.analyses.statistics import (
    PermutationP,
    Series,
    Shift,
    describe_series,
    hodges_lehmann,
    noise_floor,
    permutation_p,
    welch,
)
from stepprof.profiler.errors import InputError

Outcome = Literal["lower", "higher", "not_told_apart", "refused"]
FEW_CONTROLS = 3


@dataclass(frozen=True)
class Sample:
    """What a comparison keeps of a launch."""

    name: str
    kind: str
    measure: str
    series: Series
    left_out: int
    settings: dict[str, str]
    inflation: TracingInflation | None
    figure_kind: str
    cells: dict[str, Reading]
    profile: Profile | None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arm:
    """The launches of one arm, and their medians in ms."""

    samples: list[Sample]

    @property
    def medians(self) -> list[float]:
        """One value a launch."""
        return [sample.series.median for sample in self.samples]

    @property
    def mean(self) -> float:
        """Of the medians."""
        return float(np.mean(self.medians))

    @property
    def spread(self) -> float | None:
        """Standard deviation of the medians."""
        return float(np.std(self.medians, ddof=1)) if len(self.samples) > 1 else None


@dataclass(frozen=True)
class Comparison:
    """Times in ms, rows in ns a step; `delta` is candidate minus control, None with one launch an arm."""

    control: Arm
    candidate: Arm
    figure_kind: str
    estimate: float
    delta: Shift | None
    noise_floor: float | None
    shift: float  # Hodges–Lehmann
    permutation: PermutationP | None
    outcome: Outcome
    reason: str
    wall: RowDelta | None
    rows: dict[str, list[RowDelta]]
    ops: OpDeltas | None
    cells: list[RowDelta]  # tokens/s by class and concurrency
    settings: list[Difference]
    warnings: list[dict[str, Any]]


def sample_of(launch: Launch) -> Sample:
    """What is kept of a launch; its ops may be freed after."""
    profile = None if launch.found is None else profile_of(launch.found, steady(launch))
    return Sample(
        launch.name,
        launch.kind,
        launch.measure,
        describe_series(launch.step_ms),
        launch.left_out,
        launch.settings,
        launch.inflation,
        launch.figure_kind,
        throughput_cells(launch),
        profile,
        launch.doubts,
    )


def compared(control: Sequence[Sample], candidate: Sequence[Sample]) -> Comparison:
    """Everything there is to say; InputError where launches of different kinds are mixed."""
    _check_kinds([*control, *candidate])
    a, b = Arm(list(control)), Arm(list(candidate))
    enough = min(len(control), len(candidate)) >= 2
    delta = welch(a.medians, b.medians) if enough else None
    floor = noise_floor(a.medians, len(candidate))
    outcome, reason = _outcome(delta, floor)
    profiles = [[s.profile for s in arm if s.profile is not None] for arm in (control, candidate)]
    traced = control[0].kind == "trace"
    return Comparison(
        a,
        b,
        "simulated" if any(s.figure_kind == "simulated" for s in (*control, *candidate)) else "measured",
        b.mean - a.mean,
        delta,
        floor,
        hodges_lehmann(a.medians, b.medians),
        permutation_p(a.medians, b.medians),
        outcome,
        reason,
        row_delta("wall", *([p.wall_ns for p in arm] for arm in profiles)) if traced else None,
        {by: row_deltas(*([p.rows[by] for p in arm] for arm in profiles)) for by in profiles[0][0].rows}
        if traced
        else {},
        op_deltas(*([p.typical for p in arm] for arm in profiles)) if traced else None,
        _cells(control, candidate),
        differences([s.settings for s in control], [s.settings for s in candidate]),
        _warnings(a, b),
    )


def _check_kinds(samples: Sequence[Sample]) -> None:
    kinds = {(sample.kind, sample.measure): sample.name for sample in samples}
    if len(kinds) > 1:
        said = ", ".join(f"{name} ({kind}, {measure})" for (kind, measure), name in kinds.items())
        raise InputError(f"launches of different kinds cannot be compared: {said}: give one kind for both arms.")


def _outcome(delta: Shift | None, floor: float | None) -> tuple[Outcome, str]:
    if delta is None or floor is None:
        return (
            "refused",
            "one launch an arm cannot tell a change from the spread of launches: add launches to each arm.",
        )
    if delta.low <= 0 <= delta.high:
        return "not_told_apart", "the interval holds 0"
    if abs(delta.estimate) <= floor:
        return "not_told_apart", "the difference is within the noise floor of the controls"
    return ("lower" if delta.estimate < 0 else "higher"), "the interval leaves 0 out and the noise floor is passed"


def _cells(control: Sequence[Sample], candidate: Sequence[Sample]) -> list[RowDelta]:
    """tokens/s of the cells that every launch has."""
    shared = set.intersection(*(set(s.cells) for s in (*control, *candidate)))
    return [
        row_delta(cell, *([s.cells[cell].value for s in arm] for arm in (control, candidate)))
        for cell in control[0].cells
        if cell in shared
    ]


def _warnings(control: Arm, candidate: Arm) -> list[dict[str, Any]]:
    samples = [*control.samples, *candidate.samples]
    inflated = [s.inflation.ratio for s in samples if s.inflation is not None and beyond(s.inflation.ratio)]
    unknown = sum(s.kind == "trace" and s.inflation is None for s in samples)
    texts = [
        ("few_controls", len(control.samples) if 1 < len(control.samples) < FEW_CONTROLS else 0,
         f"The noise floor rests on {len(control.samples)} controls: {FEW_CONTROLS} are the fewest, 5 are better."),
        ("drift", sum(s.series.drifts for s in samples),
         "Steps drift within {n} launches: let the machine warm up, or leave more steps out (--warm-up)."),
        ("tracing_inflation", len(inflated),
         f"Tracing makes steps up to {farthest(inflated):.2f} times as long: judge a gate by untraced launches."),
        ("tracing_cost_unknown", unknown, "What tracing cost is unknown in {n} launches (no untraced control)."),
    ]  # fmt: skip
    found = [{"code": code, "count": n, "text": text.replace("{n}", str(n))} for code, n, text in texts if n]
    return found + doubt_warnings([s.doubts for s in samples])


def doubt_warnings(doubts: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """What makes the times of launches doubtful, each text once with the number of its launches."""
    count = Counter(text for one in doubts for text in one)
    return [{"code": "doubtful_times", "count": n, "text": f"{n} launches: {text}"} for text, n in count.items()]
