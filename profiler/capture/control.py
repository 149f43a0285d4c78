"""The untraced control: how long the same steps take when nothing but their marks is recorded.

    found = inflation(store, grammars, [control_times])      # or why there is none

Compared are the steps that both runs have: where a window was traced, the control's steps of that window, by the texts
of their marks, or by their numbers where texts repeat.

A step's time is the length of its marker, or, where steps overlap their marks (the marker only
enqueues), the time from one marker to the next; one measure for both runs. The ratio is of medians;
its interval covers what chance among the steps of these runs explains, and the difference between a
control before and one after where both were made. What differs from launch to launch it cannot cover.

Where the control timed the GPU itself (the built-in model: CUDA events around the replay), the difference is split:
`span` is what the replay's ops and gaps gained, `prologue` the rest of the step around them. The events enclose an
untraced launch too, which the traced span (first op to last op) does not, so span is a lower bound.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from stepprof.profiler.store import Store

Grammars = list[tuple[str, list[re.Pattern[str]]]]
Measure = Literal["range", "period"]
MOST_IN_PERIOD = 0.8  # a marker shorter than this share of the period does not hold its step
DRAWS = 2000
KEPT = 20_000  # step times of the control kept in the manifest
FEWEST = 3  # step times of a median
UNMARKED = "mark the steps (step/<n>), or give --marker REGEX"
TOO_FEW = "fewer than three steps were timed in both runs, so record more of them"


@dataclass(frozen=True)
class StepTimes:
    """Markers of one run by the grammar that found them; ns."""

    grammar: str
    start: Any
    end: Any
    text: Any  # of each marker
    number: Any  # of each marker in its run, from 0
    gpu: Any = field(default_factory=lambda: np.zeros(0, np.int64))  # of each replay, in no order
    gpu_text: Any = None  # the markers of `gpu`, where the program told it

    def __len__(self) -> int:
        return len(self.start)

    @property
    def measure(self) -> Measure:
        """What of the markers is a step's time."""
        periods = np.diff(self.start)
        if len(periods) == 0 or np.median(self.end - self.start) >= MOST_IN_PERIOD * np.median(periods):
            return "range"
        return "period"

    def values(self, measure: Measure) -> Any:
        """One time a step."""
        return np.diff(self.start) if measure == "period" else self.end - self.start

    def only(self, kept: Any) -> StepTimes:
        """The steps for which it is true, and what the program told of the GPU in them."""
        if kept.all():
            return self
        parts = {name: getattr(self, name)[kept] for name in ("start", "end", "text", "number")}
        if self.gpu_text is not None:
            told = np.isin(self.gpu_text, parts["text"])
            parts |= {"gpu": self.gpu[told], "gpu_text": self.gpu_text[told]}
        return replace(self, **parts)


@dataclass(frozen=True)
class Inflation:
    """Traced over untraced: ratio of medians with its 95 % interval."""

    ratio: float
    low: float
    high: float
    measure: Measure
    traced_p50_ns: float
    control_p50_ns: list[float]
    control_ns: list[int]
    span: float | None = None  # with the prologue: ratio = 1 + span + prologue

    @property
    def manifest(self) -> dict[str, str]:
        """As the run file keeps it; analyses/inflation.py reads the first ones."""
        split = {} if self.span is None else {"inflation_span": self.span, "inflation_prologue": self.prologue}
        return {key: repr(value) for key, value in split.items()} | {
            "tracing_inflation": repr(self.ratio),
            "tracing_inflation_low": repr(self.low),
            "tracing_inflation_high": repr(self.high),
            "step_measure": self.measure,
            "traced_step_p50_ns": repr(self.traced_p50_ns),
            "control_step_p50_ns": json.dumps(self.control_p50_ns),
            "control_step_ns": json.dumps(self.control_ns[:KEPT]),
        }

    @property
    def prologue(self) -> float | None:
        """What the step gained before and after its ops, of the untraced step."""
        return None if self.span is None else self.ratio - 1 - self.span


def inflation(store: Store, grammars: Grammars, controls: list[StepTimes], numbered: bool = True) -> Inflation | str:
    """Traced over untraced, or why it cannot be told; `numbered` says that markers before the window are on record."""
    times = step_times(store, grammars)
    if times is None or not controls:
        return UNMARKED
    runs = in_common([inside_ops(store, times), *controls], numbered)
    if runs is None:
        return UNMARKED
    return compare(runs[0], runs[1:]) or TOO_FEW


def step_times(store: Store, grammars: Grammars) -> StepTimes | None:
    """Markers of the first grammar found in the run, on the thread that has most of them."""
    names = store.rows("SELECT DISTINCT text FROM range JOIN name USING (name_id)")
    for grammar, patterns in grammars:
        texts = [text for (text,) in names if any(pattern.search(text) for pattern in patterns)]
        if texts:
            return _times(store, grammar, texts)
    return None


def inside_ops(store: Store, times: StepTimes) -> StepTimes:
    """Only the steps that were traced: those within the recorded window."""
    first, last = store.rows("SELECT min(start_ns), max(end_ns) FROM op")[0]
    if first is None:
        return times
    kept = (times.end > first) & (times.start < last)
    return times.only(kept)


def in_common(runs: list[StepTimes], numbered: bool) -> list[StepTimes] | None:
    """The steps that each run has: by text, by number where texts repeat or tell runs apart; None if that is unknown."""
    keys = [run.text.tolist() for run in runs]
    if any(len(set(key)) < len(key) for key in keys) or not set.intersection(*map(set, keys)):
        if not numbered:
            return None
        keys = [run.number.tolist() for run in runs]
    shared = set.intersection(*map(set, keys))
    return [run.only(np.array([one in shared for one in key], dtype=bool)) for run, key in zip(runs, keys, strict=True)]


def compare(traced: StepTimes, controls: list[StepTimes]) -> Inflation | None:
    """The ratio with its interval; None where a run has too few steps."""
    measure = traced.measure
    values = traced.values(measure)
    untraced = [control.values(measure) for control in controls]
    if min(map(len, [values, *untraced])) < FEWEST:
        return None
    pooled = np.concatenate(untraced)
    ratio = float(np.median(values) / np.median(pooled))
    low, high = _interval(values, pooled)
    each = [float(np.median(values) / np.median(one)) for one in untraced]
    return Inflation(
        ratio,
        min(low, *each),
        max(high, *each),
        measure,
        float(np.median(values)),
        [float(np.median(one)) for one in untraced],
        [int(value) for value in pooled],
        _span(traced, controls, float(np.median(pooled))),
    )


def _span(traced: StepTimes, controls: list[StepTimes], untraced: float) -> float | None:
    """What replays gained, of the untraced step; None where a side has too few."""
    gpu = np.concatenate([control.gpu for control in controls])
    if min(len(traced.gpu), len(gpu)) < FEWEST:
        return None
    return float(np.median(traced.gpu) - np.median(gpu)) / untraced


def _interval(values: Any, control: Any) -> tuple[float, float]:
    """Bootstrap of the two medians."""
    draw = np.random.default_rng(0)
    ratios = [
        np.median(draw.choice(values, len(values))) / np.median(draw.choice(control, len(control)))
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def _times(store: Store, grammar: str, texts: list[str]) -> StepTimes:
    rows = store.rows(
        """
        WITH marked AS (
            SELECT process, thread, start_ns, end_ns, text FROM range JOIN name USING (name_id)
            WHERE text IN (SELECT unnest(?::VARCHAR[])) AND NOT left_open
        )
        SELECT start_ns, end_ns, text FROM marked SEMI JOIN (
            SELECT process, thread FROM marked GROUP BY ALL ORDER BY count(*) DESC, process, thread LIMIT 1
        ) USING (process, thread) ORDER BY start_ns
        """,
        texts,
    )
    table = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    marks = np.array([text for *_, text in rows], dtype=object)
    return StepTimes(grammar, table[:, 0], table[:, 1], marks, np.arange(len(rows)), *_gpu_times(store))


def _gpu_times(store: Store) -> tuple[Any, Any]:
    """GPU time of each replay, ns: from its first op to its last; or, in a run without ops, as the program says, by step."""
    spans = store.rows(
        "SELECT max(end_ns) - min(start_ns) FROM op WHERE graph_node IS NOT NULL GROUP BY process, correlation"
    )
    if spans:
        return np.array([ns for (ns,) in spans], dtype=np.int64), None
    told = store.rows("SELECT gpu_ns, 'step/' || step FROM step_fact WHERE gpu_ns IS NOT NULL")
    return np.array([ns for ns, _ in told], dtype=np.int64), np.array([text for _, text in told], dtype=object)
