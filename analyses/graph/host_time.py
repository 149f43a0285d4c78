"""Host time as nodes of a step graph: what a thread does before each launch call, and the step's end.

Before call i a thread spends host time since call i−1 (one node, which ends as the call starts, so a
launch's latency counts from its call's start). Where it waited for the GPU in between, there
are two nodes: up to the waiting call, and from its return on, which follows the op it waited
for. Where no wait is on record (a program may poll an event, or memory) it is taken for one if
all that the thread had launched was done in time and the call follows that end far more closely,
step for step, than it follows the call before. The last node ends the step's window: host time after the last wait, or, where no wait is on
record, the fixed time from the last op's end to the window's end.

    host = host_nodes(store, found, same)
    host.start, host.duration        # [nodes, steps] ns from the window's start
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.graph.step_graph import Times
from stepprof.analyses.graph.template import Template
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.profiler.store import Store

HOST_SQL = Path(__file__).parent.with_name("host.sql")
MOST = 0.9  # share of steps that must wait at a place for it to be a wait of the template
CLOSER = 0.5  # how much less the time since an op's end must vary than the time since the call before it


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
    returns: Times  # their ends
    wait_start: Ints  # all its calls that wait for the GPU, by start, absolute
    wait_end: Ints
    base: Ints  # [steps] starts of the windows
    ends: Times  # [ops, steps] of the step's ops
    launch: Ints  # [ops] number of the launch of each

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

    def drained(self, returned: Ints, until: Ints, launch: int) -> tuple[int, Ints] | None:
        """The op, and its end, that call `launch` most likely waited for without a wait on record; None where it did not."""
        before = self.numbers if launch == UNKNOWN else self.numbers[self.numbers < launch]
        mine = np.flatnonzero(np.isin(self.launch, before))
        if len(mine) == 0:
            return None
        place = self.ends[mine].argmax(axis=0)
        end = self.ends[mine].max(axis=0)
        op = int(np.bincount(place).argmax())
        if ((end > returned) & (end <= until) & (place == op)).mean() < MOST:
            return None
        free, whole = until - end, until - returned
        close = _spread(free) < CLOSER * _spread(whole) and np.median(free) < CLOSER * np.median(whole)
        return (int(mine[op]), np.clip(end, returned, until)) if close else None


def _spread(times: Ints) -> float:
    """Between the quartiles."""
    low, high = np.quantile(times, [0.25, 0.75])
    return float(high - low)


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
        returns = launches.call_end[launch][mine] - base
        made.append(
            _Thread(same.launch[first][mine], called[mine] - base, returns, start, end, base, ends, same.launch)
        )
    return made


def _calls(made: HostNodes, thread: _Thread) -> int:
    """Nodes before each call of a thread; the last one comes back."""
    begin, after = np.minimum(thread.calls[0], 0), None
    returned = begin
    for number, call, back in zip(thread.numbers.tolist(), thread.calls, thread.returns, strict=True):
        after = _stretch(made, thread, f"call {number}", (begin, returned, call), after, number)
        begin, returned = call, back
    assert after is not None
    return after


def _wait_at_end(made: HostNodes, thread: _Thread, last: int, stop: Ints) -> bool:
    """Host time from the last call to the window's end, where the thread waits in it."""
    before = len(made.waits)
    begin = thread.calls[-1]
    if thread.waited_for(*thread.last_wait(begin, stop)) is not None:
        _stretch(made, thread, "the step's end", (begin, thread.returns[-1], stop), last)
    return len(made.waits) > before


def _stretch(
    made: HostNodes, thread: _Thread, to: str, span: tuple[Ints, Ints, Ints], after: int | None, launch: int = UNKNOWN
) -> int:
    """Host time from a call (its start and its return) to the next one: one node, or two around a wait for the GPU.

    The last node comes back.
    """
    begin, returned, until = span
    start, end = thread.last_wait(begin, until)
    op = thread.waited_for(start, end)
    if op is None and (found := thread.drained(returned, until, launch)) is not None:
        (op, end), start = found, np.minimum(returned, until)
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
