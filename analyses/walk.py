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
    """The path of every window, latest first. Times in ns, ops as indices."""

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
    start, end = ops.start.tolist(), ops.end.tolist()
    predecessor = deps.predecessor.tolist()
    segments, gaps = array("q"), array("q")  # rows of 4 and 5 numbers, end to end
    for step, last in enumerate(_last_ops(ops, windows, of_op)):
        _walk_one(step, last, int(windows.start[step]), int(windows.end[step]), start, end, predecessor, segments, gaps)
    path = Walked(*_columns(segments, 4), *_columns(gaps, 5))
    _assert_exact(path, windows)
    return path


def _walk_one(
    step: int,
    last: int,
    low: int,
    high: int,
    start: list[int],
    end: list[int],
    predecessor: list[int],
    segments: array[int],
    gaps: array[int],
) -> None:
    """One window: `at` moves from `high` down to `low`."""
    at, after, op = high, UNKNOWN, last
    while at > low:
        if op == UNKNOWN or end[op] <= low:
            gaps.extend((step, low, at, after, UNKNOWN))
            return
        if end[op] < at:
            gaps.extend((step, end[op], at, after, op))
            at = end[op]
        before = predecessor[op]
        begin = start[op]
        if before != UNKNOWN and end[before] > begin:
            begin = min(end[before], at)
        begin = max(begin, low)
        segments.extend((op, step, begin, at))
        at, after, op = begin, op, before


def _last_ops(ops: Ops, windows: Windows, of_op: Ints) -> list[int]:
    """For each step its op that ends last, UNKNOWN where it has none."""
    last = np.full(len(windows.start), UNKNOWN, dtype=np.int64)
    at = np.flatnonzero(of_op != UNKNOWN)
    at = at[ops.start[at] < windows.end[of_op[at]]]
    order = at[np.lexsort((at, ops.end[at]))]
    last[of_op[order]] = order
    return last.tolist()


def _columns(rows: array[int], width: int) -> list[Ints]:
    """The rows as one contiguous array a column."""
    table = np.array(rows, dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(table[:, i]) for i in range(width)]


def _assert_exact(path: Walked, windows: Windows) -> None:
    total = np.zeros(len(windows.start), dtype=np.int64)
    np.add.at(total, path.segment_step, path.segment_end - path.segment_start)
    np.add.at(total, path.gap_step, path.gap_end - path.gap_start)
    wall = windows.end - windows.start
    wrong = np.flatnonzero(total != wall)
    assert len(wrong) == 0, f"step {wrong[0]}: parts {total[wrong[0]]} ns, wall {wall[wrong[0]]} ns"
