"""The range path of every op: what the program said it was doing, outermost first.

An eager op carries the ranges that were open on its thread when its API call
started. A graph op carries those open when its node was made at capture (the walk
from replay to origin is op.origin_node) inside those open at the replay's launch.
Step markers, and what lies around them, label no op: they say when, not what. An op
that carries nothing of its own has what was carried over from another trace (carried_labels.py).

    labels = op_labels(store, ops, ranges, markers={"step/0"})
    labels.paths[labels.of_op[i]]        # ("layer/3/attention",), or no entry where of_op is -1
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepprof.analyses.markers import Ranges
from stepprof.analyses.ops import UNKNOWN, Ints, Ops
from stepprof.profiler.store import Store

NODE_SQL = """
-- where each captured node was made: the first creation row of the node that is no clone
SELECT process, node, arg_min(coalesce(thread, -1), start_ns) AS thread, min(start_ns) AS start_ns
FROM graph_node WHERE start_ns IS NOT NULL AND node IN (SELECT origin_node FROM op) GROUP BY ALL ORDER BY process, node
"""


@dataclass(frozen=True)
class Labels:
    """`of_op` indexes into `paths`; UNKNOWN where no range was open."""

    of_op: Ints
    paths: list[tuple[str, ...]]


@dataclass
class _Paths:
    """Paths as numbers; 0 is the empty path."""

    number: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    parent: list[int] = field(default_factory=lambda: [-1])
    name: list[int] = field(default_factory=lambda: [-1])

    def inside(self, path: int, name: int) -> int:
        """The path one range deeper."""
        key = (path, name)
        if key not in self.number:
            self.number[key] = len(self.parent)
            self.parent.append(path)
            self.name.append(name)
        return self.number[key]

    def names(self, path: int) -> list[int]:
        """Range names of a path, outermost first."""
        found: list[int] = []
        while path > 0:
            found.append(self.name[path])
            path = self.parent[path]
        return found[::-1]


def op_labels(store: Store, ops: Ops, ranges: Ranges, markers: set[str]) -> Labels:
    """Label paths of all ops; `markers` are range names that mark steps."""
    paths = _Paths()
    timelines = _timelines(ranges, paths)
    calls = ops.launches
    opened = _open_at(timelines, calls.process, calls.thread, calls.call_start)
    launched, outer = _cut_paths(opened, paths, ranges.names, markers)
    captured, inner = _cut_paths(_captured(store, ops, timelines), paths, ranges.names, markers)
    pairs, of_op = np.unique(launched[ops.launch] * len(inner) + captured, return_inverse=True)
    found = [_path(outer[pair // len(inner)], inner[pair % len(inner)]) for pair in pairs.tolist()]
    known = sorted(set(found) - {()})
    at = {path: i for i, path in enumerate(known)} | {(): UNKNOWN}
    codes = np.array([at[path] for path in found], dtype=np.int64)
    own = Labels(codes[of_op] if len(codes) else np.zeros(0, np.int64), known)
    return _with_carried(store, ops, own)


def _with_carried(store: Store, ops: Ops, own: Labels) -> Labels:
    """Own labels, and carried ones for the ops that have none."""
    carried = store.arrays(
        "SELECT op_id, dense_rank() OVER (ORDER BY path) - 1 AS path FROM carried_label ORDER BY op_id"
    )
    op_id = np.asarray(carried["op_id"], dtype=np.int64)
    if not len(op_id):
        return own
    paths = [tuple(path) for (path,) in store.rows("SELECT DISTINCT path FROM carried_label ORDER BY path")]
    known = sorted({*own.paths, *paths})
    at = {path: i for i, path in enumerate(known)}
    place = np.minimum(np.searchsorted(op_id, ops.op_id), len(op_id) - 1)
    takes = (op_id[place] == ops.op_id) & (own.of_op == UNKNOWN)
    kept = np.array([*(at[path] for path in own.paths), UNKNOWN], dtype=np.int64)[own.of_op]
    new = np.array([at[path] for path in paths], dtype=np.int64)[carried["path"][place]]
    return Labels(np.where(takes, new, kept), known)


@dataclass(frozen=True)
class _Cut:
    """A path from its innermost step marker on; a thousand steps have the same few."""

    marked: bool
    names: tuple[str, ...]


def _cut_paths(found: Ints, paths: _Paths, names: list[str], markers: set[str]) -> tuple[Ints, list[_Cut]]:
    """Numbers of cut paths for numbers of paths, and the cut paths."""
    met = np.zeros(len(paths.parent), bool)
    met[found] = True
    number: dict[_Cut, int] = {}
    table = np.zeros(len(met), dtype=np.int64)
    for path in np.flatnonzero(met).tolist():
        table[path] = number.setdefault(_cut([names[n] for n in paths.names(path)], markers), len(number))
    return table[found], list(number)


def _cut(path: list[str], markers: set[str]) -> _Cut:
    inner = max((i + 1 for i, name in enumerate(path) if name in markers), default=0)
    return _Cut(inner > 0, tuple(path[inner:]))


def _path(outer: _Cut, inner: _Cut) -> tuple[str, ...]:
    """The launch's ranges, then the capture's, from the innermost step marker on."""
    repeats = not outer.marked and inner.names[: len(outer.names)] == outer.names
    return inner.names if inner.marked or repeats else outer.names + inner.names


def _captured(store: Store, ops: Ops, timelines: dict[tuple[int, int], tuple[Ints, Ints]]) -> Ints:
    """For each op the path open when its graph node was made; 0 outside graphs."""
    table = store.arrays(NODE_SQL)
    path = _open_at(timelines, *(np.asarray(table[c], dtype=np.int64) for c in ("process", "thread", "start_ns")))
    result = np.zeros(len(ops), dtype=np.int64)
    for process in np.unique(table["process"]).tolist():
        mine = np.asarray(table["process"]) == process
        nodes = np.asarray(table["node"], dtype=np.int64)[mine]
        at = np.flatnonzero((ops.process == process) & (ops.node != UNKNOWN))
        place = np.minimum(np.searchsorted(nodes, ops.node[at]), len(nodes) - 1)
        result[at] = np.where(nodes[place] == ops.node[at], path[mine][place], 0)
    return result


def _timelines(ranges: Ranges, paths: _Paths) -> dict[tuple[int, int], tuple[Ints, Ints]]:
    """For each (process, thread): times of change, and the path open from each on."""
    result: dict[tuple[int, int], tuple[Ints, Ints]] = {}
    keys = np.stack([ranges.process, ranges.thread], axis=1)
    for process, thread in np.unique(keys, axis=0).tolist():
        at = np.flatnonzero((ranges.process == process) & (ranges.thread == thread) & (ranges.end > ranges.start))
        result[process, thread] = _sweep(ranges.start[at], ranges.end[at], ranges.name[at], paths)
    return result


def _sweep(start: Ints, end: Ints, name: Ints, paths: _Paths) -> tuple[Ints, Ints]:
    """Open and close ranges in order of time; ranges need not nest."""
    count = len(start)
    time = np.concatenate([end, start])
    # at one time ends come before starts, and of starts the longer range is the outer one
    order = np.lexsort((np.concatenate([-start, -end]), np.repeat([0, 1], count), time))
    open_ranges: list[tuple[int, int]] = []  # (range, path up to it)
    opened: list[int] = []
    names = name.tolist()
    for event in order.tolist():
        i = event % count
        if event >= count:
            outer = open_ranges[-1][1] if open_ranges else 0
            open_ranges.append((i, paths.inside(outer, names[i])))
        else:
            _close(open_ranges, i, names, paths)
        opened.append(open_ranges[-1][1] if open_ranges else 0)
    return time[order], np.array(opened, dtype=np.int64)


def _close(open_ranges: list[tuple[int, int]], i: int, names: list[int], paths: _Paths) -> None:
    if open_ranges[-1][0] == i:
        del open_ranges[-1]
        return
    place = next(k for k in range(len(open_ranges) - 1, -1, -1) if open_ranges[k][0] == i)
    inner = [k for k, _ in open_ranges[place + 1 :]]
    del open_ranges[place:]
    for k in inner:  # ranges that overlap without nesting stay open
        outer = open_ranges[-1][1] if open_ranges else 0
        open_ranges.append((k, paths.inside(outer, names[k])))


def _open_at(timelines: dict[tuple[int, int], tuple[Ints, Ints]], process: Ints, thread: Ints, at: Ints) -> Ints:
    """The path open on each thread at each time; 0 where none or the time is UNKNOWN."""
    result = np.zeros(len(at), dtype=np.int64)
    for (p, t), (times, opened) in timelines.items():
        mine = np.flatnonzero((process == p) & (thread == t) & (at != UNKNOWN))
        place = np.searchsorted(times, at[mine], side="right") - 1
        result[mine] = np.where(place >= 0, opened[np.maximum(place, 0)], 0) if len(times) else 0
    return result
