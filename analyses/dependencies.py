"""For every op the one it really waited for: the dependency that ended last.

Candidates, from sure to guessed (DESIGN, Accounting rules, The walk):

    recorded   edges of its CUDA graph
    ordered    the op before it on its stream (outside graphs, and for a graph's first
               nodes), the op behind an event its stream waits for, and the last op that
               had ended before its launch was called, where the thread had waited for it
    inferred   inside a graph without recorded edges, the card's previous op; another
               card's only where the card had been idle for more than twice its median
               in-graph gap. Elsewhere the op that had ended last before a late launch was
               called, and, with nothing else known, before the op started

A predecessor always comes earlier in order of start, so following them always ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.edges import ReplayEdges, replay_edges
from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops
from stepprof.profiler.store import Store

HOST_SQL = Path(__file__).with_name("host.sql")
RECORDED, ORDERED, INFERRED = 0, 1, 2
SOURCES = ("recorded", "ordered", "inferred")


@dataclass(frozen=True)
class Dependencies:
    """One entry an op."""

    predecessor: Ints  # op index, UNKNOWN where there is none
    source: Ints  # index into SOURCES
    programmatic: Bools  # the link is a programmatic graph edge (PDL)
    head: Bools  # nothing of its own launch comes before it
    contradicted: int  # recorded edges that the times contradict


class _Best:
    """The best predecessor offered so far for each op: the one that ends last."""

    def __init__(self, ops: Ops) -> None:
        self.end = ops.end
        self.predecessor = np.full(len(ops), UNKNOWN, dtype=np.int64)
        self.source = np.full(len(ops), INFERRED, dtype=np.int64)
        self.programmatic = np.zeros(len(ops), bool)

    def offer(self, target: Ints, candidate: Ints, source: int, programmatic: Bools | None = None) -> None:
        """Candidates for targets; a target may come several times, a candidate must come before it."""
        usable = (candidate != UNKNOWN) & (candidate < target)
        flags = np.zeros(len(target), bool) if programmatic is None else programmatic
        target, candidate, flags = target[usable], candidate[usable], flags[usable]
        order = np.lexsort((candidate, self.end[candidate], target))
        target, candidate, flags = target[order], candidate[order], flags[order]
        last = np.concatenate([target[1:] != target[:-1], [True]]) if len(target) else np.zeros(0, bool)
        target, candidate, flags = target[last], candidate[last], flags[last]
        held = self.predecessor[target]
        better = (held == UNKNOWN) | (self.end[candidate] > self.end[held])
        target = target[better]
        self.predecessor[target] = candidate[better]
        self.source[target] = source
        self.programmatic[target] = flags[better]


def dependencies(store: Store, ops: Ops, use_edges: bool = True) -> Dependencies:
    """Predecessors of all ops; `use_edges=False` ignores recorded edges, to test the inference."""
    store.con.execute(HOST_SQL.read_text())
    edges = replay_edges(store, ops) if use_edges else ReplayEdges.none(len(ops))
    best = _Best(ops)
    best.offer(edges.target, edges.source, RECORDED, edges.programmatic)

    guessed = np.flatnonzero(ops.in_graph & ~edges.known)
    best.offer(guessed, previous_in_graph(ops, guessed), INFERRED)

    head = best.predecessor == UNKNOWN
    for target, candidate in stream_links(ops, head) + event_links(store, ops, head):
        best.offer(target, candidate, ORDERED)
    _offer_ended_before_call(store, ops, best, head)
    _share_among_heads(ops, best, head)
    alone = np.flatnonzero(best.predecessor == UNKNOWN)
    best.offer(alone, ended_before(ops, np.arange(len(ops)), ops.start[alone], alone), INFERRED)
    return Dependencies(best.predecessor, best.source, best.programmatic, head, edges.contradicted)


def ended_before(ops: Ops, among: Ints, at: Ints, target: Ints | None = None) -> Ints:
    """For each time the op of `among` that ended last at or before it (and comes before its target), else UNKNOWN."""
    if len(among) == 0:
        return np.full(len(at), UNKNOWN)
    order = among[np.argsort(ops.end[among], kind="stable")]
    found = np.searchsorted(ops.end[order], at, side="right") - 1
    found = found if target is None else _step_back(found, order, target)
    return np.where(found >= 0, order[np.maximum(found, 0)], UNKNOWN)


def _step_back(found: Ints, order: Ints, target: Ints, least: Ints | int = 0) -> Ints:
    """Places in `order` moved to ops before their targets: an op without length has ended when it starts.

    A place that gets below `least` holds no such op.
    """
    found, least = found.copy(), np.broadcast_to(least, len(found))
    late = np.flatnonzero(found >= least)
    while len(late := late[order[found[late]] >= target[late]]):
        found[late] -= 1
        late = late[found[late] >= least[late]]
    return found


def previous_in_graph(ops: Ops, at: Ints) -> Ints:
    """For ops of graph launches the op of the same launch they most likely waited for."""
    by_card = _ended_before_in_group(ops, at, _group(ops, at, by_device=True))
    in_launch = _ended_before_in_group(ops, at, _group(ops, at, by_device=False))
    gap = np.where(by_card == UNKNOWN, np.iinfo(np.int64).max, ops.start[at] - ops.end[by_card])
    seen = by_card != UNKNOWN
    limit = 2 * np.median(gap[seen]) if seen.any() else 0
    return np.where(gap <= limit, by_card, in_launch)


def _group(ops: Ops, at: Ints, by_device: bool) -> Ints:
    key = ops.launch[at] * (int(ops.device.max(initial=0)) + 1) + ops.device[at] if by_device else ops.launch[at]
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _ended_before_in_group(ops: Ops, at: Ints, group: Ints) -> Ints:
    """For each op the one of its group that ended last at or before its start."""
    if len(at) == 0:
        return at
    base = ops.start[at].min()
    span = int(ops.end[at].max() - base) + 2
    assert (int(group.max()) + 1) * span < 2**62, f"{span=} ns in {int(group.max()) + 1} groups is beyond int64"
    ends = group * span + (ops.end[at] - base)
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], group * span)
    found = np.searchsorted(ends[order], group * span + (ops.start[at] - base), side="right") - 1
    found = _step_back(found, at[order], at, first)
    return np.where(found >= first, at[order][np.maximum(found, 0)], UNKNOWN)


def _last_of_launch(ops: Ops) -> Ints:
    """For each launch its op that ends last."""
    order = np.lexsort((ops.end, ops.launch))
    last = np.full(len(ops.launches.graph), UNKNOWN, dtype=np.int64)
    last[ops.launch[order]] = order
    return last


def _whole_launch(ops: Ops, candidate: Ints, last_of_launch: Ints) -> Ints:
    """A graph launch is over when its last op is: stand in for any op of it."""
    known = candidate != UNKNOWN
    launch = ops.launch[np.where(known, candidate, 0)]
    return np.where(known & ops.launches.graph[launch], last_of_launch[launch], candidate)


Links = list[tuple[Ints, Ints]]  # targets and what each follows, as op indices; UNKNOWN where nothing


def stream_links(ops: Ops, head: Bools) -> Links:
    """A launch starts after the launch before it on its stream: links of the ops marked as its first ones."""
    order = np.argsort(ops.stream, kind="stable")
    if len(order) == 0:
        return []
    stream, launch = ops.stream[order], ops.launch[order]
    new = np.concatenate([[True], (stream[1:] != stream[:-1]) | (launch[1:] != launch[:-1])])
    new |= ~ops.launches.graph[launch]  # one call may issue several ops, a copy in pieces
    run_start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    before = run_start - 1
    same = (before >= 0) & (stream[np.maximum(before, 0)] == stream)
    candidate = np.where(same, order[np.maximum(before, 0)], UNKNOWN)
    wanted = head[order]
    whole = _whole_launch(ops, candidate, _last_of_launch(ops))
    return [(order[wanted], whole[wanted]), (order[wanted], candidate[wanted])]


def event_links(store: Store, ops: Ops, head: Bools) -> Links:
    """The first launch on a stream after cudaStreamWaitEvent follows what the event had recorded."""
    links = store.arrays("SELECT wait_stream, wait_ns, record_stream, record_ns FROM _event_link")
    if len(links["wait_ns"]) == 0:
        return []
    call = ops.launches.call_start[ops.launch]
    issued = np.flatnonzero(head & (call != UNKNOWN))
    order = issued[np.lexsort((call[issued], ops.stream[issued]))]
    after = _in_stream(ops, call, order, links["wait_stream"], links["wait_ns"])
    before = _in_stream(ops, call, order, links["record_stream"], links["record_ns"]) - 1
    exists = (after < len(order)) & (before >= 0)
    target, source = order[after[exists]], order[before[exists]]
    right = (ops.stream[target] == links["wait_stream"][exists]) & (
        ops.stream[source] == links["record_stream"][exists]
    )
    return [(target[right], _whole_launch(ops, source[right], _last_of_launch(ops)))]


def _in_stream(ops: Ops, call: Ints, order: Ints, stream: Ints, at: Ints) -> Ints:
    """Position in `order` (sorted by stream, then call) of the stream's first launch called after `at`."""
    base = call[order].min() if len(order) else 0
    span = int(max(call[order].max(initial=0), at.max(initial=0)) - min(base, at.min(initial=base))) + 2
    low = min(int(base), int(at.min(initial=int(base))))
    key = ops.stream[order] * span + (call[order] - low)
    return np.searchsorted(key, stream * span + (at - low), side="right")


def _offer_ended_before_call(store: Store, ops: Ops, best: _Best, head: Bools) -> None:
    """A launch that was called late follows the op that had ended last by then.

    Sure where the thread had waited since; else a guess, among the thread's own ops, that only
    replaces what its stream says: a program may also ask for an answer in ways not on record.
    """
    calls = store.arrays("SELECT process, thread, end_ns FROM _sync_call ORDER BY end_ns")
    launches = ops.launches
    call = launches.call_start[ops.launch]
    for process, thread in _threads(ops):
        mine = ((launches.process == process) & (launches.thread == thread))[ops.launch]
        target = np.flatnonzero(head & mine & (call != UNKNOWN))
        waited = _last_wait(calls, process, thread, call[target])
        synced = ended_before(ops, np.flatnonzero(ops.process == process), waited, target)
        best.offer(target, np.where(waited == UNKNOWN, UNKNOWN, synced), ORDERED)
        target = target[best.predecessor[target] != UNKNOWN]
        best.offer(target, ended_before(ops, np.flatnonzero(mine), call[target], target), INFERRED)


def _threads(ops: Ops) -> list[tuple[int, int]]:
    """The (process, thread) pairs that launched; one number a pair sorts ten times as fast as rows do."""
    width = int(ops.launches.thread.max(initial=0)) + 2
    pairs = np.unique(ops.launches.process * width + ops.launches.thread + 1)
    return [(pair // width, pair % width - 1) for pair in pairs.tolist()]


def _last_wait(calls: dict[str, np.ndarray], process: int, thread: int, at: Ints) -> Ints:
    """When the thread last came out of a synchronizing call before each time; UNKNOWN where never."""
    ends = calls["end_ns"][(calls["process"] == process) & (calls["thread"] == thread)]
    place = np.searchsorted(ends, at, side="right") - 1
    known = ends if len(ends) else np.full(1, UNKNOWN)
    return np.where(place >= 0, known[np.maximum(place, 0)], UNKNOWN)


def _share_among_heads(ops: Ops, best: _Best, head: Bools) -> None:
    """A graph starts as a whole: what one of its first nodes waited for, they all did."""
    heads = np.flatnonzero(head & ops.in_graph)
    known = heads[best.predecessor[heads] != UNKNOWN]
    known = known[np.argsort(best.end[best.predecessor[known]], kind="stable")]
    latest = np.full(len(ops.launches.graph), UNKNOWN, dtype=np.int64)
    latest[ops.launch[known]] = best.predecessor[known]
    best.offer(heads, latest[ops.launch[heads]], ORDERED)
