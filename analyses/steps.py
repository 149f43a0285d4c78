"""The decode steps of a run: their ops, windows, spans and what is doubtful about each.

Methods, the first that holds: a marker grammar (markers.py); the period of the graph
launches; the period of the op names (periods.py). An op belongs to a step through the
launch that issued it, never by overlap of times (outside_steps.py counts those of none).
Windows: DESIGN, Accounting rules.

    steps, tried = find_steps(store, ops, ranges, rules)
    steps.wall        # length of each step, ns
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stepprof.analyses.grouping import Grouping
from stepprof.analyses.markers import Marker, Ranges, grammars, marked
from stepprof.analyses.ops import UNKNOWN, Ints, Ops
from stepprof.analyses.periods import by_launches, by_period
from stepprof.analyses.rules import RuleSet
from stepprof.analyses.shared_steps import spans, step_of_marker
from stepprof.analyses.windows import Windows, host_and_gpu_windows
from stepprof.profiler.store import Store

Method = Literal["launches", "period"]


@dataclass(frozen=True)
class Steps:
    """Steps by start; arrays of one entry a step, times in ns, UNKNOWN (-1) where there is none."""

    method: str
    confidence: float
    label: list[str]
    phase: list[str | None]
    windows: Windows
    of_op: Ints  # step of each op of the run, UNKNOWN outside steps
    flags: list[list[str]]
    warnings: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    def __len__(self) -> int:
        return len(self.label)

    @property
    def wall(self) -> Ints:
        """Length of each window, ns."""
        return self.windows.end - self.windows.start

    @property
    def usable(self) -> list[int]:
        """Steps that figures over steps are made of: whole, and with ops."""
        return [i for i, flags in enumerate(self.flags) if not set(flags) & LEFT_OUT]


LEFT_OUT = {"no_ops", "incomplete", "launches_lost", "warm_up"}
WARM_UP = 3  # times the median wall from which a leading step is compiling or capturing, not decoding


def find_steps(
    store: Store, ops: Ops, ranges: Ranges, rules: RuleSet, marker: str | None = None, method: Method | None = None
) -> tuple[Steps | None, list[str]]:
    """Steps by the first method that holds, and a sentence on each one tried.

    `method` forces one of the methods without marks; a `marker` leaves these out.
    """
    tried: list[str] = []
    if method is None:
        grouping, tried = _marked(ops, ranges, rules, marker)
        if grouping is not None:
            return make_steps(ops, grouping), tried
    for name, find in (("launches", by_launches), ("period", by_period)):
        if method == name or (method is None and marker is None):
            grouping, said = find(store, ops)
            tried.append(said)
            if grouping is not None:
                return make_steps(ops, grouping), tried
    return None, tried


def _marked(ops: Ops, ranges: Ranges, rules: RuleSet, marker: str | None) -> tuple[Grouping | None, list[str]]:
    """Steps by the first grammar whose ranges hold ops."""
    tried: list[str] = []
    for name, patterns in grammars(rules, marker):
        markers = marked(ranges, patterns)
        if not markers:
            continue
        grouping = _by_marker(ops, ranges, markers, name)
        if (grouping.of_launch[ops.launch] != UNKNOWN).any():
            return grouping, tried
        tried.append(f"{len(markers)} ranges of the marker '{name}' hold no GPU op")
    return None, tried or [f"no range matches {'--marker ' + marker if marker else 'a step marker'}"]


def _by_marker(ops: Ops, ranges: Ranges, markers: Sequence[Marker], name: str) -> Grouping:
    at = np.array([m.index for m in markers], dtype=np.int64)
    step = step_of_marker(ranges, markers)
    host_start, host_end = spans(ranges, at, step)
    first = [markers[i] for i in np.unique(step, return_index=True)[1].tolist()]
    of_launch = _of_launch(ops, ranges, at, step)
    return Grouping(
        method=f"marker {name}",
        confidence=1.0,
        label=[m.label for m in first],
        phase=[m.phase for m in first],
        host_start=host_start,
        host_end=host_end,
        of_launch=of_launch,
    )


def _of_launch(ops: Ops, ranges: Ranges, at: Ints, step: Ints) -> Ints:
    """The step whose mark was open on the thread of a launch when it was called; of helpers, that of the marking thread.

    A helper is a thread of a process in which one other thread launches inside its marks, such as that of a backward
    pass. What it launches belongs to the step that was on, where it runs between that step's own first and last op.
    """
    launches = ops.launches
    own = np.full(len(launches.graph), UNKNOWN, dtype=np.int64)
    helped = own.copy()
    threads = np.unique(np.stack([ranges.process[at], ranges.thread[at]], axis=1), axis=0)
    leaders: dict[int, list[Ints]] = {}  # process -> marks of each thread that launches inside them
    for process, thread in threads.tolist():
        mine = np.flatnonzero((ranges.process[at] == process) & (ranges.thread[at] == thread))
        calls = np.flatnonzero((launches.process == process) & (launches.thread == thread))
        own[calls] = _open_step(ranges, at[mine], step[mine], launches.call_start[calls])
        if (own[calls] != UNKNOWN).any():
            leaders.setdefault(process, []).append(mine)
    for process, (mine, *others) in leaders.items():
        calls = np.flatnonzero((launches.process == process) & (own == UNKNOWN))
        if not others:
            helped[calls] = _open_step(ranges, at[mine], step[mine], launches.call_start[calls])
    first, last = _spans(ops, own[ops.launch], int(step.max()) + 1)
    begin, stop = _spans(ops, ops.launch, len(own))
    serves = (helped != UNKNOWN) & (begin >= first[helped]) & (stop <= last[helped])
    return np.where(serves, helped, own)


def _open_step(ranges: Ranges, marks: Ints, step: Ints, time: Ints) -> Ints:
    """The step of the mark that is open at each time, UNKNOWN outside; `marks` are ranges of one thread by start."""
    place = np.searchsorted(ranges.start[marks], time, side="right") - 1
    inside = (place >= 0) & (time < ranges.end[marks][np.maximum(place, 0)]) & (time != UNKNOWN)
    return np.where(inside, step[np.maximum(place, 0)], UNKNOWN)


def _spans(ops: Ops, group: Ints, count: int) -> tuple[Ints, Ints]:
    """First start and last end of each group's ops."""
    at = np.flatnonzero(group != UNKNOWN)
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, UNKNOWN, dtype=np.int64)
    np.minimum.at(first, group[at], ops.start[at])
    np.maximum.at(last, group[at], ops.end[at])
    return first, last


def make_steps(ops: Ops, grouping: Grouping) -> Steps:
    """Windows and flags of grouped launches."""
    of_op = grouping.of_launch[ops.launch]
    windows = host_and_gpu_windows(ops, of_op, grouping.host_start, grouping.host_end)
    flags: list[list[str]] = [[] for _ in grouping.label]
    for i in np.flatnonzero(windows.ops == 0).tolist():
        flags[i].append("no_ops")
    for i in np.flatnonzero(windows.clipped > 0).tolist():
        flags[i].append("clipped")
    for i in grouping.incomplete:
        flags[i].append("incomplete")
    _flag_incomplete(windows.ops, flags)
    _flag_warm_up(windows.end - windows.start, flags)
    return Steps(
        method=grouping.method,
        confidence=grouping.confidence,
        label=grouping.label,
        phase=grouping.phase,
        windows=windows,
        of_op=of_op,
        flags=flags,
        warnings=_clipped(int(windows.clipped.sum())),
    )


def _clipped(count: int) -> list[dict[str, object]]:
    text = f"{count} ops reach over the edge of their step's window; only what lies inside is counted."
    return [{"code": "op_clipped", "count": count, "text": text}] if count else []


def _flag_warm_up(wall: Ints, flags: list[list[str]]) -> None:
    """Leading steps that took many times as long as a typical one: kernels are compiled, graphs captured."""
    if len(wall) < 3:
        return
    limit = WARM_UP * float(np.median(wall))
    for i in range(int(np.argmax(wall <= limit))):
        flags[i].append("warm_up")


def _flag_incomplete(count: Ints, flags: list[list[str]]) -> None:
    """First and last steps with clearly fewer ops than all the steps between them have."""
    between = count[1:-1]
    if len(between) < 2:
        return
    for i in (0, len(count) - 1):
        if 0 < count[i] < 0.9 * between.min() and "incomplete" not in flags[i]:
            flags[i].append("incomplete")
