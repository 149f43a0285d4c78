"""What steps wait for at the sidecar: by layer and step, and each call on its own.

waits = Waits(scene, calls, joins, steps, bound)
by_step(waits)[0].join_wait_ns
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.clocks import answered_away
from stepprof.analyses.sidecar.joins import Joins
from stepprof.analyses.sidecar.members import Scene
from stepprof.analyses.sidecar.result import CallRow, LayerWait, StepWait


@dataclass(frozen=True)
class Waits:
    """Calls with their joins, and the bound on the clocks' offset, ns."""

    scene: Scene
    calls: Calls
    joins: Joins
    steps: list[int]
    bound: int | None

    @cached_property
    def away(self) -> Ints:
        """From the first op of each call until the main card goes on, ns; 0 where it never does."""
        return np.where(self.joins.op != UNKNOWN, self.joins.resumes - self.calls.start, 0)

    @cached_property
    def counted(self) -> Ints:
        """The wait of each call as it counts for its step: of calls with one join only the longest does, ns."""
        return self._counted(self.joins.wait)

    def _counted(self, wait: Ints) -> Ints:
        join = self.joins.op
        order = np.lexsort((wait, join))
        last = np.append(join[order][1:] != join[order][:-1], True)[: len(order)]
        counted = np.zeros_like(wait)
        counted[order[last]] = wait[order[last]]
        return np.where(join == UNKNOWN, wait, counted)

    def per_step_if_ahead(self, ns: int) -> float:
        """The join wait of a step, µs, if the other card's clock is ahead by so much; what it tells lies so much earlier."""
        done = self.joins.side_done - np.where(answered_away(self.calls), ns, 0)
        wait = np.where(self.joins.op == UNKNOWN, 0, np.maximum(done - self.joins.main_ready, 0))
        return float(self._counted(wait).sum()) / 1e3 / len(self.steps)

    @cached_property
    def launched(self) -> Ints:
        """When the host called the launch of what goes on after each call, ns; UNKNOWN where nothing says."""
        ops, join = self.scene.found.ops, self.joins.op
        return np.where(join == UNKNOWN, UNKNOWN, ops.launches.call_start[ops.launch[join]])

    @cached_property
    def late(self) -> Bools:
        """Waits that the host made longer: the answer was there before it launched what goes on."""
        return (self.joins.wait > 0) & (self.launched > self.joins.side_done)

    @cached_property
    def held(self) -> Ints:
        """The wait that counts and the wake-up after it, until the main card goes on, ns; 0 where it did not wait.

        What the host launches only after the main card was ready could not have gone on before that launch.
        """
        joins, wait = self.joins, self.counted
        free = np.maximum(joins.resumes - np.maximum(joins.main_ready, self.launched), 0)
        return np.where(wait > 0, np.where(joins.op == UNKNOWN, wait, free), 0)

    def per_step(self, at: Ints) -> float:
        """The waits of these calls that count, mean µs a step."""
        return float(self.counted[at].sum()) / 1e3 / len(self.steps)

    @cached_property
    def below(self) -> Bools:
        """Waits that clocks which are `bound` apart could make up."""
        return (self.joins.wait > 0) & (self.joins.wait < (self.bound or 0))


def by_layer(waits: Waits) -> list[LayerWait]:
    """Layers by number; calls that name none come last, together."""
    layer = waits.calls.layer
    numbers = np.unique(layer)
    order = [*numbers[numbers != UNKNOWN].tolist(), *([UNKNOWN] if (layer == UNKNOWN).any() else [])]
    return [_layer(waits, number, np.flatnonzero(layer == number)) for number in order]


def _layer(waits: Waits, number: int, at: Ints) -> LayerWait:
    joins, rows = waits.joins, waits.calls.rows[at]
    known = at[joins.op[at] != UNKNOWN]
    return LayerWait(
        layer=None if number == UNKNOWN else number,
        rows=None if (rows == UNKNOWN).any() else _plain(float(rows.mean())),
        calls=len(at),
        main_ready_us=_mean_us((joins.main_ready - joins.fork)[known]),
        sidecar_us=_mean_us((joins.side_done - joins.fork)[known]),
        join_wait_us=_mean_us(joins.wait[at]),
        join_wait_us_per_step=waits.per_step(at),
        below_bound=int(waits.below[at].sum()),
    )


def _plain(value: float) -> float:
    """A whole number as int, which JSON prints without a point."""
    return int(value) if value == int(value) else value


def _mean_us(ns: Ints) -> float:
    return float(ns.mean()) / 1e3 if len(ns) else 0.0


def by_step(waits: Waits) -> list[StepWait]:
    """Every chosen step, those without calls too."""
    count = len(waits.scene.found.steps)
    calls = np.bincount(waits.calls.step, minlength=count)
    below = np.bincount(waits.calls.step[waits.below], minlength=count)
    wait, away = (np.zeros(count, dtype=np.int64) for _ in range(2))
    np.add.at(wait, waits.calls.step, waits.counted)
    np.add.at(away, waits.calls.step, waits.away)
    return [StepWait(i, int(calls[i]), int(wait[i]), int(away[i]), int(below[i])) for i in waits.steps]


def where_main_waits(waits: Waits) -> list[str]:
    """Sentences on waits that lie elsewhere than the ranges say, and on those that the clocks could make up."""
    joins = waits.joins
    waiting = (joins.op != UNKNOWN) & (joins.wait > 0)
    elsewhere = waiting & ~joins.at_mark & (joins.marked != UNKNOWN)
    said: list[str] = []
    if elsewhere.sum() * 2 > waiting.sum():
        where, marked = _range_of(waits, joins.op[elsewhere]), _range_of(waits, joins.marked[elsewhere])
        there = float(joins.marked_wait[elsewhere].sum()) / 1e6 / len(waits.steps)
        said.append(
            f"The main card really waits at the first op of `{where}` ({int(elsewhere.sum())} of {int(waiting.sum())} "
            f"joins); at the range `{marked}`, which claims to wait or add, it waits {there:.3f} ms a step."
        )
    if waits.late.any():
        said.append(
            f"The host launched {int(waits.late.sum())} of {int(waiting.sum())} joins only after the answer was there: a "
            "faster sidecar does not shorten these."
        )
    shared = _shared(joins)
    if shared.any():
        said.append(
            f"{int(shared.sum())} calls share a join with another call: of those only the longest wait counts for the "
            "step, so the waits of single calls add up to more."
        )
    if waits.below.any():
        said.append(
            f"{int(waits.below.sum())} of {int(waiting.sum())} waits are shorter than the clocks of the cards can "
            f"tell ({waits.bound:,} ns)."
        )
    return said


def _shared(joins: Joins) -> Bools:
    """Calls that wait at a join at which another call is waited for too."""
    waiting = np.flatnonzero((joins.op != UNKNOWN) & (joins.wait > 0))
    _, which, count = np.unique(joins.op[waiting], return_inverse=True, return_counts=True)
    shared = np.zeros(len(joins.op), bool)
    shared[waiting] = count[which.reshape(-1)] > 1
    return shared


def _range_of(waits: Waits, op: Ints) -> str:
    """The most frequent innermost range of these ops, its layer number left out."""
    labels = waits.scene.found.labels
    paths = Counter(labels.of_op[op].tolist())
    words: Counter[str] = Counter()
    for label, count in paths.items():
        words[labels.paths[label][-1].split("/")[-1] if label != UNKNOWN else "(no range)"] += count
    return words.most_common(1)[0][0]


def call_rows(waits: Waits, length: Ints, class_of: list[str | None]) -> list[CallRow]:
    """Every call, for a table; `class_of` tells the class of each step."""
    calls, joins = waits.calls, waits.joins
    joined = joins.op != UNKNOWN

    def known(column: Ints) -> list[int | None]:
        return [None if value == UNKNOWN else value for value in column.tolist()]

    def timed(column: Ints) -> list[int | None]:
        return [value if there else None for value, there in zip(column.tolist(), joined.tolist(), strict=True)]

    columns = (
        calls.step.tolist(),
        known(calls.layer),
        known(calls.side),
        known(calls.rows),
        known(calls.experts),
        [class_of[i] for i in calls.step.tolist()],
        calls.start.tolist(),
        length.tolist(),
        timed(joins.main_ready - joins.fork),
        timed(joins.side_done - joins.fork),
        joins.wait.tolist(),
        waits.counted.tolist(),
        waits.below.tolist(),
        timed(waits.away),
    )
    return [CallRow(*row) for row in zip(*columns, strict=True)]
