"""The steps that the report's timeline shows, op by op, in as few bytes as may be.

Columns over all shown steps, one list a step: `group` (row of the op table), `start` (ns after the op
before it), `length` (ns), `lane`; the critical path as `[op, start, length]`, gaps as `[class, start, length]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.lanes import lanes
from stepprof.analyses.op_groups import OpGroups
from stepprof.analyses.ops import UNKNOWN

SHOWN = 100  # steps at most; more are thinned out evenly


def shown_steps(found: Attribution, chosen: Sequence[int], limit: int = SHOWN) -> list[int]:
    """The chosen steps, or if they are too many an even choice with the shortest, the median and the longest."""
    if len(chosen) <= limit:
        return list(chosen)
    by_wall = sorted(chosen, key=lambda i: (int(found.steps.wall[i]), i))
    kept = {by_wall[0], by_wall[len(by_wall) // 2], by_wall[-1]}
    even = [chosen[i * len(chosen) // (limit - len(kept))] for i in range(limit - len(kept))]
    return sorted(kept | set(even))


def timeline(found: Attribution, groups: OpGroups, shown: Sequence[int]) -> dict[str, Any]:
    """The columns of the shown steps."""
    ops, windows, step_of = found.ops, found.steps.windows, found.steps.of_op[groups.at]
    lane = lanes(ops, found.deps.predecessor, groups.at)
    steps: list[dict[str, Any]] = []
    for step in shown:
        mine = np.flatnonzero(step_of == step)
        at, base = groups.at[mine], int(windows.start[step])
        place = np.full(len(ops), UNKNOWN, dtype=np.int64)
        place[at] = np.arange(len(at))
        columns = {
            "group": groups.of_op[mine].tolist(),
            "start": np.diff(ops.start[at], prepend=base).tolist(),
            "length": (ops.end[at] - ops.start[at]).tolist(),
            "lane": lane[mine].tolist(),
        }
        steps.append(
            {"step": step, **columns, "path": _path(found, step, place, base), "gaps": _gaps(found, step, base)}
        )
    names = ("step", "group", "start", "length", "lane", "path", "gaps")
    wall = found.steps.wall[list(shown)].tolist()
    return {name: [one[name] for one in steps] for name in names} | {"wall_ns": wall}


def _path(found: Attribution, step: int, place: np.ndarray, base: int) -> list[list[int]]:
    path = found.path
    mine = np.flatnonzero(found.work & (path.segment_step == step))[::-1]  # the walk goes backwards
    columns = (
        place[path.segment_op[mine]],
        path.segment_start[mine] - base,
        (path.segment_end - path.segment_start)[mine],
    )
    return np.stack(columns, axis=1).tolist()


def _gaps(found: Attribution, step: int, base: int) -> list[list[int]]:
    gaps = found.gaps
    mine = np.flatnonzero(gaps.step == step)
    columns = (gaps.code[mine], gaps.start[mine] - base, (gaps.end - gaps.start)[mine])
    return np.stack(columns, axis=1).tolist()
