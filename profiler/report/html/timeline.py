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
from stepprof.analyses.ops import UNKNOWN, Ints

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
    ops, start = found.ops, found.steps.windows.start
    wanted = np.array(shown, dtype=np.int64)
    mine = np.flatnonzero(np.isin(found.steps.of_op[groups.at], wanted))  # ops in order of start
    mine = mine[np.argsort(found.steps.of_op[groups.at[mine]], kind="stable")]
    at, group = groups.at[mine], groups.of_op[mine]
    bounds = np.searchsorted(found.steps.of_op[at], wanted), np.searchsorted(found.steps.of_op[at], wanted, "right")
    path, gaps = _path(found, shown, at), _gaps(found, shown)
    columns: dict[str, list[Any]] = {"group": [], "start": [], "length": [], "lane": []}
    for step, low, high in zip(shown, *(bound.tolist() for bound in bounds), strict=True):
        own = at[low:high]
        columns["group"].append(group[low:high].tolist())
        columns["start"].append(np.diff(ops.start[own], prepend=int(start[step])).tolist())
        columns["length"].append((ops.end[own] - ops.start[own]).tolist())
        columns["lane"].append(lanes(ops, found.deps.predecessor, own).tolist())
    return {
        "step": list(shown),
        **columns,
        "path": path,
        "gaps": gaps,
        "wall_ns": found.steps.wall[wanted].tolist(),
    }


def _path(found: Attribution, shown: Sequence[int], at: Ints) -> list[list[list[int]]]:
    """[place of the op in its step, start, length] of each segment; the place is UNKNOWN for an op of another step."""
    path, of_op = found.path, found.steps.of_op
    place = np.full(len(found.ops), UNKNOWN, dtype=np.int64)
    place[at] = np.arange(len(at)) - np.searchsorted(of_op[at], of_op[at])
    mine = np.flatnonzero(found.work & np.isin(path.segment_step, np.array(shown, dtype=np.int64)))[::-1]
    step, op = path.segment_step[mine], path.segment_op[mine]
    own = np.where(of_op[op] == step, place[op], UNKNOWN)
    lengths = (path.segment_end - path.segment_start)[mine]
    return _by_step(shown, step, own, path.segment_start[mine] - found.steps.windows.start[step], lengths)


def _gaps(found: Attribution, shown: Sequence[int]) -> list[list[list[int]]]:
    """[class, start, length] of each gap."""
    gaps = found.gaps
    mine = np.flatnonzero(np.isin(gaps.step, np.array(shown, dtype=np.int64)))
    step = gaps.step[mine]
    start = gaps.start[mine] - found.steps.windows.start[step]
    return _by_step(shown, step, gaps.code[mine], start, (gaps.end - gaps.start)[mine])


def _by_step(shown: Sequence[int], step: Ints, *columns: Ints) -> list[list[list[int]]]:
    """Rows of the columns, a list a shown step, in the order in which they come."""
    order = np.argsort(step, kind="stable")
    rows = np.stack([column[order] for column in columns], axis=1)
    low, high = (np.searchsorted(step[order], shown, side) for side in ("left", "right"))
    return [rows[a:b].tolist() for a, b in zip(low.tolist(), high.tolist(), strict=True)]
