"""A lane for every op of some steps, so that ops of one lane never overlap: branches as one sees them.

All nodes of a CUDA graph report one stream, parallel branches too. An op goes on where
the op it waited for ended, if nothing else has gone on there; else into the card's first free lane.

    lane = lanes(ops, deps.predecessor, at)      # one entry an op of `at`
    lane = interval_lanes(start, end)            # without dependencies
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import Ints, Ops


def lanes(ops: Ops, predecessor: Ints, at: Ints) -> Ints:
    """Lane of each op of `at` (op indices in order of start), counted from 0 on each card."""
    lane_of: dict[int, int] = {}
    ends: dict[int, list[int]] = {}
    last: dict[int, list[int]] = {}
    columns = (ops.device[at], ops.start[at], ops.end[at], predecessor[at], at)
    for device, start, end, before, op in zip(*(column.tolist() for column in columns), strict=True):
        free, holder = ends.setdefault(device, []), last.setdefault(device, [])
        lane = lane_of.get(before, -1)
        if lane < 0 or lane >= len(free) or holder[lane] != before or free[lane] > start:
            lane = next((i for i, ended in enumerate(free) if ended <= start), len(free))
        if lane == len(free):
            free.append(0)
            holder.append(0)
        free[lane], holder[lane], lane_of[op] = end, op, lane
    return np.array([lane_of[op] for op in at.tolist()], dtype=np.int64)


def interval_lanes(start: Ints, end: Ints) -> Ints:
    """Lane of each interval, given in order of start: the first one that is free by then."""
    free: list[int] = []
    found: list[int] = []
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        lane = next((i for i, ended in enumerate(free) if ended <= low), len(free))
        free[lane : lane + 1] = [high]
        found.append(lane)
    return np.array(found, dtype=np.int64)
