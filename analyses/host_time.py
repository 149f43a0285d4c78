"""Host time as nodes of a step graph: what a thread does before each launch call, and the step's end.

Before call i a thread spends host time since call i−1 (one node, which ends as the call starts, so a
launch's latency counts from its call's start). Where it waited for the GPU in between, there
are two nodes: up to the waiting call, and from its return on, which follows the op it waited
for. The last node ends the step's window: host time after the last wait, or, where no wait is on
record, the fixed time from the last op's end to the window's end.

    host = host_nodes(store, found, same)
    host.start, host.duration        # [nodes, steps] ns from the window's start
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.step_graph import Times
from stepprof.analyses.template import Template
from stepprof.profiler.store import Store

HOST_SQL = Path(__file__).with_name("host.sql")
MOST = 0.9  # share of steps that must wait at a place for it to be a wait of the template


@dataclass
class HostNodes:
    """Host nodes and the edges between them; `launch[i]` is the number of the launch that node i calls, or UNKNOWN."""

    name: list[str] = field(default_factory=list[str])
    start: list[Ints] = field(default_factory=list[Ints])  # [steps] each, ns from the window's start
    duration: list[Ints] = field(default_factory=list[Ints])
    launch: list[int] = field(default_factory=list[int])
    first: list[int] = field(default_factory=list[int])  # nodes that nothing in the step comes before
    chain: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # (node, node after it)
    waits: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # (op's place, node that follows it)
    follows_ops: int | None = None  # the node of the window's end, where it follows the last ops

    def add(self, name: str, start: Ints, end: Ints, launch: int = UNKNOWN) -> int:
        """One more node."""
        self.name.append(name)
        self.start.append(start)
        self.duration.append(np.maximum(end - start, 0))
        self.launch.append(launch)
        return len(self.name) - 1


@dataclass(frozen=True)
class _Thread:
    """A thread's launch calls and waits, and the ops it may wait for. ns, from each window's start where [.., steps]."""

    numbers: Ints  # of its launches in the step
    calls: Times  # their starts, [launches, steps]
    wait_start: Ints  # all its calls that wait for the GPU, by start, absolute
    wait_end: Ints
    base: Ints  # [steps] starts of the windows
    ends: Times  # [ops, steps] of the step's ops

    def last_wait(self, begin: Ints, until: Ints) -> tuple[Ints, Ints]:
        """Start and end of the last wait between two times of each step; both `until` where there is none."""
        place = np.searchsorted(self.wait_start, until + self.base) - 1
        if len(self.wait_start) == 0:
            return until, until
        start, end = (times[np.maximum(place, 0)] - self.base for times in (self.wait_start, self.wait_end))
        inside = (place >= 0) & (start >= begin)
        return np.where(inside, start, until), np.where(inside, np.minimum(end, until), until)

    def waited_for(self, start: Ints, end: Ints) -> int | None:
        """The op that most steps waited for; None where most did not wait."""
        ended = np.where(self.ends <= end, self.ends, np.iinfo(np.int64).min)
        op = ended.argmax(axis=0)
        waited = (start < end) & (ended.max(axis=0) > start)
        if waited.mean() < MOST:
            return None
        return int(np.bincount(op[waited]).argmax())


def host_nodes(store: Store, found: Attribution, same: Template) -> HostNodes:
    """Host time of every thread that launches in the steps, thread by thread, then the step's end."""
    made = HostNodes()
    windows, steps = found.steps.windows, same.steps
    ends = found.ops.end[same.ops] - windows.start[steps]
    stop = windows.end[steps] - windows.start[steps]
    threads = _threads(store, found, same, ends)
    for thread in threads:
        last = _calls(made, thread)
        if thread is threads[0] and windows.host[steps].all() and _wait_at_end(made, thread, last, stop):
            return made
    made.follows_ops = made.add("host: to the window's end", ends.max(axis=0), stop)
    return made


def _threads(store: Store, found: Attribution, same: Template, ends: Times) -> list[_Thread]:
    """The threads that launch in the steps, the one with most calls first."""
    store.con.execute(HOST_SQL.read_text())
    launches, base = found.ops.launches, found.steps.windows.start[same.steps]
    first = np.flatnonzero(np.diff(same.launch, prepend=UNKNOWN))
    launch = found.ops.launch[same.ops[first]]
    called = launches.call_start[launch]
    known = (called != UNKNOWN).all(axis=1)
    keys = np.stack([launches.process[launch[:, 0]], launches.thread[launch[:, 0]]], axis=1)
    pairs, count = np.unique(keys[known], axis=0, return_counts=True)
    made: list[_Thread] = []
    for process, thread in pairs[np.argsort(-count, kind="stable")].tolist():
        mine = known & (keys == (process, thread)).all(axis=1)
        waits = store.arrays(
            "SELECT start_ns, end_ns FROM _sync_call WHERE process = ? AND thread = ? ORDER BY 1, 2", process, thread
        )
        start, end = (np.asarray(waits[key], dtype=np.int64) for key in ("start_ns", "end_ns"))
        made.append(_Thread(same.launch[first][mine], called[mine] - base, start, end, base, ends))
    return made


def _calls(made: HostNodes, thread: _Thread) -> int:
    """Nodes before each call of a thread; the last one comes back."""
    begin, after = np.minimum(thread.calls[0], 0), None
    for number, call in zip(thread.numbers.tolist(), thread.calls, strict=True):
        after = _stretch(made, thread, f"call {number}", (begin, call), after, number)
        begin = call
    assert after is not None
    return after


def _wait_at_end(made: HostNodes, thread: _Thread, last: int, stop: Ints) -> bool:
    """Host time from the last call to the window's end, where the thread waits in it."""
    before = len(made.waits)
    begin = thread.calls[-1]
    if thread.waited_for(*thread.last_wait(begin, stop)) is not None:
        _stretch(made, thread, "the step's end", (begin, stop), last)
    return len(made.waits) > before


def _stretch(
    made: HostNodes, thread: _Thread, to: str, span: tuple[Ints, Ints], after: int | None, launch: int = UNKNOWN
) -> int:
    """Host time between two moments: one node, or two around a wait for the GPU; the last one comes back."""
    begin, until = span
    start, end = thread.last_wait(begin, until)
    op = thread.waited_for(start, end)
    ends = [(f"host: to {to}", begin, until, launch)]
    if op is not None:
        ends = [(f"host: to the wait before {to}", begin, start, UNKNOWN), (f"host: to {to}", end, until, launch)]
    for name, a, b, number in ends:
        node = made.add(name, a, b, number)
        if after is None:
            made.first.append(node)
        else:
            made.chain.append((after, node))
        after = node
    assert after is not None
    if op is not None:
        made.waits.append((op, after))
    return after
