"""The window of each step, and the times beside it.

host   the marker's range, where the step's last op ends inside it and no other
       step's op runs in it
gpu    from the step's first op to the first op of the next step; the last step
       to the end of its own last op. Where the next step keeps its host range, which
       begins before its first op, the two windows overlap and `between` is negative
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.intervals import count_up
from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops


@dataclass(frozen=True)
class Windows:
    """Arrays of one entry a step; times in ns, UNKNOWN (-1) where there is none."""

    start: Ints
    end: Ints
    host: Bools  # the window is the marker's range
    host_start: Ints
    host_end: Ints
    gpu_start: Ints  # start of the first op
    gpu_end: Ints  # end of the last op
    ops: Ints
    clipped: Ints  # ops of the step that reach over the window's edge

    @property
    def period(self) -> Ints:
        """Start to the next step's start; UNKNOWN for the last step."""
        return np.append(np.diff(self.start), UNKNOWN)[: len(self.start)]

    @property
    def between(self) -> Ints:
        """End to the next step's start; UNKNOWN for the last step."""
        gaps = self.start[1:] - self.end[:-1]
        return np.append(gaps, UNKNOWN)[: len(self.start)]


def host_and_gpu_windows(ops: Ops, of_op: Ints, host_start: Ints, host_end: Ints) -> Windows:
    """Windows of steps whose ops are `of_op`; host times are UNKNOWN for steps without a marker."""
    count = len(host_start)
    at = np.flatnonzero(of_op != UNKNOWN)
    step = of_op[at]
    number = np.bincount(step, minlength=count).astype(np.int64)
    big = np.iinfo(np.int64).max
    first = np.full(count, big, dtype=np.int64)
    last = np.full(count, UNKNOWN, dtype=np.int64)
    np.minimum.at(first, step, ops.start[at])
    np.maximum.at(last, step, ops.end[at])
    host = (number > 0) & (host_start != UNKNOWN) & (last <= host_end) & (first >= host_start)
    host &= ~_others_inside(ops, of_op, host_start, host_end)

    empty = number == 0
    start = np.where(host | empty, host_start, first)
    end = np.where(host | empty, host_end, np.maximum(_next_first(first, last), first))
    clipped = _clipped(ops, at, step, start, end)
    first[empty] = UNKNOWN
    return Windows(start, end, host, host_start, host_end, first, last, number, clipped)


def _next_first(first: Ints, last: Ints) -> Ints:
    """For each step the start of the next step with ops; its own last end where there is none."""
    later = np.append(first[1:], np.iinfo(np.int64).max)
    following = np.minimum.accumulate(later[::-1])[::-1]
    return np.where(following == np.iinfo(np.int64).max, last, following)


def visitors(ops: Ops, of_op: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Pairs (op, window) where an op runs in a window [start, end) that is not its own step's."""
    order = np.argsort(start, kind="stable")
    first = np.searchsorted(np.maximum.accumulate(end[order]), ops.start, side="right")
    behind = np.maximum(np.searchsorted(start[order], ops.end, side="left"), first)
    rank = np.append(np.argsort(order), UNKNOWN)[of_op]
    some = np.flatnonzero((behind - first > 1) | ((behind - first == 1) & (first != rank)))
    op = np.repeat(some, (behind - first)[some])
    place = np.repeat(first[some], (behind - first)[some]) + count_up((behind - first)[some])
    window = order[place]
    truly = (window != of_op[op]) & (ops.start[op] < end[window]) & (ops.end[op] > start[window])
    return op[truly], window[truly]


def _others_inside(ops: Ops, of_op: Ints, host_start: Ints, host_end: Ints) -> Bools:
    """True for host ranges in which an op of another step runs."""
    op, window = visitors(ops, of_op, host_start, host_end)
    result = np.zeros(len(host_start), bool)
    result[window[of_op[op] != UNKNOWN]] = True
    return result


def _clipped(ops: Ops, at: Ints, step: Ints, start: Ints, end: Ints) -> Ints:
    over = (ops.start[at] < start[step]) | (ops.end[at] > end[step])
    return np.bincount(step[over], minlength=len(start)).astype(np.int64)
