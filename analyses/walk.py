"""The walk back along dependencies: every ns of a window goes to one op or one gap.

From the window's end back to its start: the step's op that ends last, then from each
op to its predecessor (dependencies.py). What is left between an op and its predecessor
is a gap. Segments and gaps of a window are disjoint and add up to it exactly.

    found = walk(ops, deps, steps.windows, steps.of_op)
    found.segment_end - found.segment_start     # exposed time, ns
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.dependencies import Dependencies
from stepprof.analyses.ops import UNKNOWN, Ints, Ops
from stepprof.analyses.windows import Windows


@dataclass(frozen=True)
class Walked:
    """The path of every window, latest first; gaps in no order. Times in ns, ops as indices."""

    segment_op: Ints
    segment_step: Ints
    segment_start: Ints
    segment_end: Ints
    gap_step: Ints
    gap_start: Ints
    gap_end: Ints
    gap_before: Ints  # op after the gap; UNKNOWN at the window's end
    gap_after: Ints  # op before the gap; UNKNOWN at the window's start


def walk(ops: Ops, deps: Dependencies, windows: Windows, of_op: Ints) -> Walked:
    """Walk every window; asserts that segments and gaps add up to it."""
    op, count = _paths(ops, deps, windows, _last_ops(ops, windows, of_op))
    step = np.repeat(np.arange(len(count)), count)
    low, high = windows.start[step], windows.end[step]
    # an op ends for the path where it does or, if that is earlier, where the op after it on the path begins
    end = low + _running_min(np.minimum(ops.end[op], high) - low, step)
    before, reach = _next(op, step, np.full_like(op, UNKNOWN)), _next(end, step, low)
    begin = np.maximum(np.maximum(ops.start[op], low), reach)

    first = np.flatnonzero(np.diff(step, prepend=UNKNOWN))
    tail_op, tail_start = np.full(len(count), UNKNOWN, dtype=np.int64), windows.start.copy()
    tail_op[step[first]], tail_start[step[first]] = op[first], end[first]
    tail = np.flatnonzero(tail_start < windows.end)
    gap = np.flatnonzero(reach < begin)
    path = Walked(
        segment_op=op,
        segment_step=step,
        segment_start=begin,
        segment_end=end,
        gap_step=np.concatenate([tail, step[gap]]),
        gap_start=np.concatenate([tail_start[tail], reach[gap]]),
        gap_end=np.concatenate([windows.end[tail], begin[gap]]),
        gap_before=np.concatenate([np.full_like(tail, UNKNOWN), op[gap]]),
        gap_after=np.concatenate([tail_op[tail], before[gap]]),
    )
    _assert_exact(path, windows)
    return path


def _paths(ops: Ops, deps: Dependencies, windows: Windows, last: list[int]) -> tuple[Ints, Ints]:
    """The ops on the path of every window, one path behind another, and how many each has."""
    path, count = array("q"), array("q")
    # views, since lists of a million numbers each are large
    end, predecessor = (np.ascontiguousarray(column).data for column in (ops.end, deps.predecessor))
    for final, low, high in zip(last, windows.start.tolist(), windows.end.tolist(), strict=True):
        known, op = len(path), final
        while op != UNKNOWN and end[op] > low and high > low:
            path.append(op)
            op = predecessor[op]
        count.append(len(path) - known)
    return np.array(path, dtype=np.int64), np.array(count, dtype=np.int64)


def _next(value: Ints, step: Ints, none: Ints) -> Ints:
    """The value one place on; `none` for the last place of a step."""
    following = np.append(step[1:], UNKNOWN) == step
    return np.where(following, np.append(value[1:], 0), none)


def _running_min(value: Ints, step: Ints) -> Ints:
    """The smallest value so far in each step, of values that are not negative."""
    span = int(value.max(initial=0)) + 1
    steps = int(step.max(initial=0)) + 1
    assert steps * span < 2**62, f"{span=} ns in {steps} steps is beyond int64"
    lift = (steps - step) * span
    return np.minimum.accumulate(value + lift) - lift


def _last_ops(ops: Ops, windows: Windows, of_op: Ints) -> list[int]:
    """For each step its op that ends last, UNKNOWN where it has none."""
    last = np.full(len(windows.start), UNKNOWN, dtype=np.int64)
    at = np.flatnonzero(of_op != UNKNOWN)
    at = at[ops.start[at] < windows.end[of_op[at]]]
    order = at[np.lexsort((at, ops.end[at]))]
    last[of_op[order]] = order
    return last.tolist()


def _assert_exact(path: Walked, windows: Windows) -> None:
    total = np.zeros(len(windows.start), dtype=np.int64)
    np.add.at(total, path.segment_step, path.segment_end - path.segment_start)
    np.add.at(total, path.gap_step, path.gap_end - path.gap_start)
    wall = windows.end - windows.start
    wrong = np.flatnonzero(total != wall)
    assert len(wrong) == 0, f"step {wrong[0]}: parts {total[wrong[0]]} ns, wall {wall[wrong[0]]} ns"
