"""What the path waited for where no op of the step runs: the gap classes.

in_graph        between nodes of one graph launch on one card
sidecar_wait    between ops of two cards, or a spin-wait kernel where two cards are known
wait            a spin-wait kernel where only one card is known
graph_boundary  before a graph that had been launched in time
launch_queue    before a single op that had been launched in time
launch          from the start of a late launch call to its op
host            the host had not launched yet
sync            the launching thread was in a synchronizing call, or the window's end
other_step      only ops of other steps, or of none, ran

A launch that was called after its predecessor had ended waited for the host, also when
that predecessor ran on another card.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.dependencies import Dependencies
from stepprof.analyses.intervals import covered, merge, subtract
from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops
from stepprof.analyses.steps import Steps
from stepprof.analyses.walk import Walked
from stepprof.analyses.windows import Windows, visitors
from stepprof.profiler.store import Store

CLASSES = (
    "in_graph",
    "graph_boundary",
    "launch_queue",
    "launch",
    "host",
    "sync",
    "sidecar_wait",
    "wait",
    "other_step",
)
CODE = {name: code for code, name in enumerate(CLASSES)}


@dataclass(frozen=True)
class Gaps:
    """Pieces of gaps, each of one class. Times in ns."""

    step: Ints
    start: Ints
    end: Ints
    code: Ints  # index into CLASSES
    before: Ints  # op after the gap, or the waiting op itself; UNKNOWN at the window's end
    after: Ints  # op before the gap; UNKNOWN at the window's start


class _Pieces:
    """Collects classified pieces."""

    def __init__(self) -> None:
        self.parts: list[tuple[Ints, ...]] = []

    def add(self, code: str, step: Ints, start: Ints, end: Ints, before: Ints, after: Ints) -> None:
        """Pieces of one class; empty ones are dropped."""
        keep = end > start
        codes = np.full(int(keep.sum()), CODE[code], dtype=np.int64)
        self.parts.append((step[keep], start[keep], end[keep], codes, before[keep], after[keep]))

    def gaps(self) -> Gaps:
        """All pieces, by step and start."""
        columns = [np.concatenate(column) for column in zip(*self.parts, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return Gaps(*(column[order] for column in columns))


def classify(
    store: Store, ops: Ops, deps: Dependencies, path: Walked, steps: Steps, waits: Bools
) -> tuple[Gaps, Bools]:
    """Classes of all gaps, and which path segments are work of their own step.

    `waits` marks spin-wait ops. Segments of spin-waits and of other steps' ops become gaps.
    """
    pieces = _Pieces()
    work = _segments_that_wait(ops, path, steps.of_op, waits, pieces)
    step, start, end, before, after = _other_steps(ops, path, steps.windows, steps.of_op, pieces)
    head = (before != UNKNOWN) & deps.head[before]
    launch = ops.launch[before]
    call = np.where(head, ops.launches.call_start[launch], UNKNOWN)
    late = (call != UNKNOWN) & ((after == UNKNOWN) | (call >= ops.end[after]))
    other_card = (before != UNKNOWN) & (after != UNKNOWN) & (ops.device[before] != ops.device[after])

    def put(code: str, which: Bools, a: Ints = start, b: Ints = end) -> None:
        pieces.add(code, step[which], a[which], b[which], before[which], after[which])

    put("sync", before == UNKNOWN)
    put("sidecar_wait", other_card & ~late)
    rest = (before != UNKNOWN) & ~(other_card & ~late)
    put("in_graph", rest & ~head)
    put("launch", rest & head & late, np.maximum(call, start), end)
    _host(store, ops, pieces, rest & head & late, (step, start, np.minimum(call, end), before, after))
    graph = ops.launches.graph[launch]
    put("graph_boundary", rest & head & ~late & graph)
    put("launch_queue", rest & head & ~late & ~graph)
    return pieces.gaps(), work


def _segments_that_wait(ops: Ops, path: Walked, of_op: Ints, waits: Bools, pieces: _Pieces) -> Bools:
    """Turn segments of spin-waits and of other steps' ops into gaps; the rest is work."""
    op, step = path.segment_op, path.segment_step
    foreign = of_op[op] != step
    spinning = waits[op] & ~foreign
    known = "sidecar_wait" if ops.sidecar_known else "wait"
    for code, which in (("other_step", foreign), (known, spinning)):
        pieces.add(code, step[which], path.segment_start[which], path.segment_end[which], op[which], op[which])
    return ~(foreign | spinning)


def _other_steps(ops: Ops, path: Walked, windows: Windows, of_op: Ints, pieces: _Pieces) -> tuple[Ints, ...]:
    """Cut out of each gap the time in which only ops of other steps run; the rest comes back."""
    gaps = (path.gap_step, path.gap_start, path.gap_end, path.gap_before, path.gap_after)
    others = np.unique(visitors(ops, of_op, windows.start, windows.end)[0])
    touched = np.flatnonzero(covered(path.gap_start, path.gap_end, *merge(ops.start[others], ops.end[others])) > 0)
    if len(touched) == 0:
        return gaps
    longest = int(ops.duration.max())
    kept: list[tuple[Ints, ...]] = [tuple(np.delete(column, touched) for column in gaps)]
    for i in touched.tolist():
        step, a, b, before, after = (int(column[i]) for column in gaps)
        low, high = np.searchsorted(ops.start, [a - longest, b])
        cut = _others_only(ops, of_op, slice(low, high), step, a, b)
        rest = subtract(np.array([a]), np.array([b]), *cut)
        pieces.add("other_step", *_rows(step, *cut, before, after))
        kept.append(_rows(step, *rest, before, after))
    return tuple(np.concatenate(column) for column in zip(*kept, strict=True))


def _rows(step: int, start: Ints, end: Ints, before: int, after: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Intervals of one gap as columns."""
    return np.full_like(start, step), start, end, np.full_like(start, before), np.full_like(start, after)


def _others_only(ops: Ops, of_op: Ints, near: slice, step: int, a: int, b: int) -> tuple[Ints, Ints]:
    """Parts of [a, b) in which ops of other steps run and none of this one."""
    start, end = np.clip(ops.start[near], a, b), np.clip(ops.end[near], a, b)
    mine = of_op[near] == step
    return subtract(*merge(start[~mine], end[~mine]), *merge(start[mine], end[mine]))


def _host(store: Store, ops: Ops, pieces: _Pieces, which: Bools, gaps: tuple[Ints, ...]) -> None:
    """Split the time before late launch calls: the thread synchronized, or did something else."""
    step, start, end, before, after = (column[which] for column in gaps)
    process = ops.launches.process[ops.launch[before]]
    thread = ops.launches.thread[ops.launch[before]]
    calls = store.arrays("SELECT process, thread, start_ns, end_ns FROM _sync_call")
    synced = np.zeros(len(step), bool)
    for key in set(zip(calls["process"].tolist(), calls["thread"].tolist(), strict=True)):
        own = (calls["process"] == key[0]) & (calls["thread"] == key[1])
        syncs = merge(calls["start_ns"][own], calls["end_ns"][own])
        touched = (process == key[0]) & (thread == key[1]) & (covered(start, end, *syncs) > 0)
        synced |= touched
        for i in np.flatnonzero(touched).tolist():
            whole = (start[i : i + 1], end[i : i + 1])
            host = subtract(*whole, *syncs)
            pieces.add("host", *_rows(int(step[i]), *host, int(before[i]), int(after[i])))
            pieces.add("sync", *_rows(int(step[i]), *subtract(*whole, *host), int(before[i]), int(after[i])))
    alone = ~synced
    pieces.add("host", step[alone], start[alone], end[alone], before[alone], after[alone])
