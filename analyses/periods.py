"""Steps of a run without marks: what repeats in the launches of one host thread.

by_launches   the graph launches of the thread with most ops in graphs. A step may be one
              launch, draft and verify, or one launch a layer; single ops belong to the
              step in which they were called
by_period     all launches of the thread with most ops: single ops by name, graphs by
              what they hold

A repeat is a step only where the host takes part (periods_find.py): a call that waits
for the GPU, or a copy to the host. A wait behind a copy to the device is none, since
that only hands data in: runtimes do it in every layer that they load. Other threads and
processes are left out. Parts before, between and after the steps become incomplete steps.

    grouping, said = by_launches(store, ops)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.grouping import Grouping
from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops
from stepprof.analyses.periods_find import Period, find_period
from stepprof.analyses.sequence import Sequence, random_numbers
from stepprof.profiler.store import Store

HOST_SQL = Path(__file__).with_name("host.sql")
TO_DEVICE, TO_HOST = 1, 2  # copy kinds
LEAST_OPS = 20  # of a step by names: a loop around a few kernels is a microbenchmark, no decode
LISTED = 0.1  # share of a step's ops from which a part is listed


@dataclass(frozen=True)
class _Calls:
    """Launches of one thread in order of their calls; one entry a launch."""

    launch: Ints
    ops: Ints  # number of ops
    names: np.ndarray  # sum of random numbers of its op names
    nodes: np.ndarray  # the same of its graph nodes
    seq: Sequence


def by_launches(store: Store, ops: Ops) -> tuple[Grouping | None, str]:
    """Steps by the period of the graph launches, and what was found or why nothing was."""
    calls = _calls(store, ops, ops.in_graph)
    at = np.flatnonzero(calls.seq.graph)
    if len(at) == 0:
        return None, "no graph launch has both a call and ops on record"
    with_singles = np.add.reduceat(calls.names, at)
    tried = [_find(calls, at, names) for names in (calls.names[at], calls.nodes[at], with_singles)]
    found = [period for period in tried if period]
    # equal graphs of a layer each, or one graph captured twice: the host's waits tell which view is right
    period = next((p for p in found if p.host), tried[1] or (found[0] if found else None))
    if period is None:
        return None, f"the sequence of {len(at)} graph launches does not repeat 3 times"
    said = f"{len(at)} graph launches repeat with period {period.typical} ({period.share:.0%})"
    return _grouping("launches", ops, calls, at, period), said


def by_period(store: Store, ops: Ops) -> tuple[Grouping | None, str]:
    """Steps by the period of all launches, and what was found or why nothing was."""
    calls = _calls(store, ops, np.ones(len(ops), bool))
    period, why_not = find_period(calls.seq)
    if period is None:
        return None, f"the sequence of {len(calls.launch)} op names {why_not}"
    at = np.arange(len(calls.launch))
    said = f"{len(at)} op names repeat with period {period.typical} ({period.share:.0%})"
    if (count := _typical(calls, at, period)) < LEAST_OPS:
        return None, f"{said}, but {count:.0f} ops are no decode step"
    return _grouping("period", ops, calls, at, period), said


def _find(calls: _Calls, at: Ints, signature: np.ndarray) -> Period | None:
    """The period of the graph launches at places `at`; the calls up to the next one count as theirs."""
    woken = np.concatenate([[0], np.cumsum(calls.seq.woken)])[at + 1]
    seq = Sequence(
        token=np.unique(signature, return_inverse=True)[1].astype(np.int64),
        host=np.add.reduceat(calls.seq.host.astype(np.int64), at) > 0,
        woken=np.diff(woken, prepend=0) > 0,
        graph=np.ones(len(at), bool),
        gap=calls.seq.gap[at],
    )
    return find_period(seq)[0]


def _calls(store: Store, ops: Ops, counted: Bools) -> _Calls:
    """The launches of the thread that issued most of the counted ops."""
    launches = ops.launches
    known = (launches.call_start != UNKNOWN) & (launches.thread != UNKNOWN)
    process, thread = (np.unique(who, return_inverse=True)[1] for who in (launches.process, launches.thread))
    code = process * (int(thread.max(initial=0)) + 1) + thread
    weight = np.bincount(code[ops.launch][counted & known[ops.launch]], minlength=1)
    mine = np.flatnonzero(known & (code == weight.argmax()))
    mine = mine[np.argsort(launches.call_start[mine], kind="stable")]

    total = len(known)
    names, nodes = (np.zeros(total, np.uint64) for _ in range(2))
    np.add.at(names, ops.launch, random_numbers(ops.name))
    _, node = np.unique(ops.node, return_inverse=True)
    np.add.at(nodes, ops.launch, random_numbers(node.astype(np.int64)))
    nodes[ops.launch[ops.node == UNKNOWN]] = names[ops.launch[ops.node == UNKNOWN]]
    number = np.bincount(ops.launch, minlength=total)
    return _Calls(mine, number[mine], names[mine], nodes[mine], _sequence(store, ops, mine, names))


def _sequence(store: Store, ops: Ops, mine: Ints, names: np.ndarray) -> Sequence:
    graph = ops.launches.graph[mine]
    host, woken = _host(store, ops, mine)
    return Sequence(
        token=np.unique(names[mine] ^ graph.astype(np.uint64), return_inverse=True)[1].astype(np.int64),
        host=host,
        woken=woken,
        graph=graph,
        gap=_gaps(ops, mine),
    )


def _host(store: Store, ops: Ops, mine: Ints) -> tuple[Bools, Bools]:
    """Launches behind which the host waits or which copy to it, and launches right after a wait."""
    to_host, to_device = (_copies(store, ops, kind)[mine] for kind in (TO_HOST, TO_DEVICE))
    host, woken = to_host.copy(), np.zeros(len(mine), bool)
    if len(mine):
        store.con.execute(HOST_SQL.read_text())
        who = int(ops.launches.process[mine[0]]), int(ops.launches.thread[mine[0]])
        waits = store.arrays("SELECT start_ns FROM _sync_call WHERE process = ? AND thread = ?", *who)["start_ns"]
        last = np.searchsorted(ops.launches.call_start[mine], waits, side="right") - 1
        last = last[(last >= 0) & ~to_device[last]]
        host[last] = True
        woken[last[last + 1 < len(mine)] + 1] = True
    return host, woken


def _copies(store: Store, ops: Ops, kind: int) -> Bools:
    """Launches that hold a copy of this kind."""
    ids = store.arrays("SELECT op_id FROM op WHERE copy_kind = ?", kind)["op_id"]
    holds = np.zeros(len(ops.launches.graph), bool)
    holds[ops.launch[np.isin(ops.op_id, ids)]] = True
    return holds


def _gaps(ops: Ops, mine: Ints) -> Ints:
    """Time before each launch's first op in which no op of an earlier launch runs, ns."""
    first = np.full(len(ops.launches.graph), np.iinfo(np.int64).max)
    last = np.zeros(len(first), np.int64)
    np.minimum.at(first, ops.launch, ops.start)
    np.maximum.at(last, ops.launch, ops.end)
    reach = np.maximum.accumulate(last[mine])
    return np.maximum(first[mine] - np.concatenate([first[mine][:1], reach[:-1]]), 0)


def _typical(calls: _Calls, at: Ints, period: Period) -> float:
    """Median number of ops of the steps."""
    edge = np.append(at, len(calls.launch))[period.cut]
    return float(np.median(np.diff(np.concatenate([[0], np.cumsum(calls.ops)])[edge])[period.step]))


def _parts(period: Period, tokens: int) -> list[tuple[int, int, bool]]:
    """First token, end and whether it is a step, of all steps and of all that lies around them."""
    parts: list[tuple[int, int, bool]] = []
    edges, steps = [0, *period.cut.tolist(), tokens], [False, *period.step.tolist(), False]
    for start, end, step in zip(edges[:-1], edges[1:], steps, strict=True):
        if parts and not step and not parts[-1][2]:
            parts[-1] = (parts[-1][0], end, False)
        elif end > start:
            parts.append((start, end, step))
    return parts


def _grouping(method: str, ops: Ops, calls: _Calls, at: Ints, period: Period) -> Grouping:
    """Steps of the tokens that start at the places `at` of the calls."""
    edge = np.append(at, len(calls.launch))
    total = np.concatenate([[0], np.cumsum(calls.ops)])
    least = LISTED * _typical(calls, at, period)
    of_launch = np.full(len(ops.launches.graph), UNKNOWN, dtype=np.int64)
    labels: list[str] = []
    incomplete: list[int] = []
    trailing = number = 0
    for start, end, step in _parts(period, len(at)):
        first, stop = int(edge[start]), int(edge[end])
        own = int(edge[end - 1]) + 1
        stop = min(stop, own + trailing) if end == len(at) else stop
        trailing = max(trailing, stop - own) if step else trailing
        if not step and total[stop] - total[first] < least:
            continue
        of_launch[calls.launch[first:stop]] = len(labels)
        if not step:
            incomplete.append(len(labels))
        labels.append(f"{method}/{number}" if step else _place(start, end, len(at)))
        number += step
    share = period.share * (1 - 2.0 ** (1 - int(period.step.sum()))) * (1 if period.host else 0.5)
    unknown = np.full(len(labels), UNKNOWN, dtype=np.int64)
    return Grouping(method, share, labels, [None] * len(labels), unknown, unknown, of_launch, tuple(incomplete))


def _place(start: int, end: int, tokens: int) -> str:
    return "before" if start == 0 else "after" if end == tokens else "between"
