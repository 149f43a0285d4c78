"""Launches whose ops the profiler lost: their steps are flagged and left out of figures.

Two signs: a launch call without any op (not in a stream capture), and a graph replay
with fewer ops than the fullest replay of the same graph.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints, Ops
from stepprof.analyses.steps import Steps
from stepprof.profiler.store import Store

FLAG = "launches_lost"


def flag_lost_launches(store: Store, ops: Ops, steps: Steps) -> Steps:
    """The same steps with `launches_lost` where ops are missing, and a counted warning."""
    bare = store.arrays("SELECT start_ns FROM _bare_launch WHERE NOT captured")["start_ns"]
    short = short_replays(ops)
    hit = _steps_around(steps, bare) | set(steps.of_op[np.isin(ops.launch, short)].tolist())
    flags = [[*own, FLAG] if i in hit else own for i, own in enumerate(steps.flags)]
    warnings = [
        *steps.warnings,
        *_warning(len(bare), "launches carry no op"),
        *_warning(len(short), "replays lack ops"),
    ]
    return replace(steps, flags=flags, warnings=warnings)


def short_replays(ops: Ops) -> Ints:
    """Graph launches with fewer ops than another launch of the same nodes."""
    at = np.flatnonzero(ops.node != UNKNOWN)
    launches, group = np.unique(ops.launch[at], return_inverse=True)
    count = np.bincount(group, minlength=len(launches))
    first = np.full(len(launches), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(first, group, _graph_of(ops.node[at], ops.launch[at]))
    _, graph = np.unique(first, return_inverse=True)
    fullest = np.zeros(int(graph.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(fullest, graph, count)
    return launches[count < fullest[graph]]


def _graph_of(node: Ints, launch: Ints) -> Ints:
    """The smallest node that ever ran in a launch together with each node, two links far."""
    nodes, index = np.unique(node, return_inverse=True)
    smallest = nodes.copy()
    for _ in range(2):
        _, group = np.unique(launch, return_inverse=True)
        low = np.full(int(group.max(initial=-1)) + 1, np.iinfo(np.int64).max, dtype=np.int64)
        np.minimum.at(low, group, smallest[index])
        np.minimum.at(smallest, index, low[group])
    return smallest[index]


def _steps_around(steps: Steps, at: Ints) -> set[int]:
    """Steps in whose host range one of the times lies."""
    w = steps.windows
    marked = np.flatnonzero(w.host_start != UNKNOWN)
    order = marked[np.argsort(w.host_start[marked], kind="stable")]
    place = np.searchsorted(w.host_start[order], at, side="right") - 1
    found = order[place[place >= 0]]
    return set(found[at[place >= 0] < w.host_end[found]].tolist())


def _warning(count: int, text: str) -> list[dict[str, Any]]:
    if not count:
        return []
    return [{"code": FLAG, "count": count, "text": f"{count} {text}: the profiler lost their records."}]
