"""Interval algebra, written once: unions and overlaps of [start, end) in integer ns.

All functions are vectorised; groups are small non-negative integers.

    union_length(group, start, end, groups=2)   # covered ns of each group
    merge(start, end)                           # disjoint intervals that cover the same points
    covered(a, b, start, end)                   # ns of each [a, b) that disjoint intervals cover
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import Ints


def merge(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Disjoint, sorted intervals that cover the same points; empty ones vanish."""
    keep = end > start
    order = np.argsort(start[keep], kind="stable")
    start, end = start[keep][order], end[keep][order]
    if len(start) == 0:
        return start, end
    reach = np.maximum.accumulate(end)
    first = np.concatenate([[True], start[1:] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return start[first], reach[last]


def union_length(group: Ints, start: Ints, end: Ints, groups: int) -> Ints:
    """Length of the union of each group's intervals, ns; overlaps count once."""
    if len(start) == 0:
        return np.zeros(groups, dtype=np.int64)
    order = np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    new = np.concatenate([[True], group[1:] != group[:-1]])
    reach = reach_before(end, new)
    gain = np.maximum(end - np.maximum(start, reach), 0)
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, group, gain)
    return total


def reach_before(end: Ints, new: np.ndarray) -> Ints:
    """For each entry the largest end before it in its group; the smallest int for the first."""
    low = np.iinfo(np.int64).min
    base = int(end.min())
    span = int(end.max()) - base + 1
    number = np.cumsum(new) - 1
    assert (int(number[-1]) + 1) * span < 2**62, f"{span=} ns in {int(number[-1]) + 1} groups is beyond int64"
    lifted = np.maximum.accumulate(end - base + number * span)
    before = np.concatenate([[0], lifted[:-1]]) - number * span + base
    return np.where(new, low, before)


def covered(a: Ints, b: Ints, start: Ints, end: Ints) -> Ints:
    """For each [a, b) the ns that the disjoint sorted intervals [start, end) cover."""
    return _covered_before(b, start, end) - _covered_before(a, start, end)


def _covered_before(at: Ints, start: Ints, end: Ints) -> Ints:
    total = np.concatenate([[0], np.cumsum(end - start)])
    index = np.searchsorted(start, at, side="right")
    inside = np.maximum(at - np.concatenate([[0], start])[index], 0)
    length = np.concatenate([[0], end - start])[index]
    return total[index] - length + np.minimum(inside, length)


def subtract(start: Ints, end: Ints, cut_start: Ints, cut_end: Ints) -> tuple[Ints, Ints]:
    """Disjoint sorted intervals without the points of other disjoint sorted intervals."""
    low, high = (start[0], end[-1]) if len(start) else (0, 0)
    near = (cut_end > low) & (cut_start < high)
    edges = np.unique(np.concatenate([start, end, cut_start[near], cut_end[near]]))
    a, b = edges[:-1], edges[1:]
    keep = (covered(a, b, start, end) > 0) & (covered(a, b, cut_start, cut_end) == 0)
    return merge(a[keep], b[keep])


def count_up(counts: Ints) -> Ints:
    """0..c-1 for each count c, one after another."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
