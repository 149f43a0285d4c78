"""The edges of a step graph, from what is on record and, where nothing is, from many replays.

Inside graph launches recorded edges hold, else inferred ones; spin-waits follow a signal that no
record names. Between launches stream order and event waits hold. Host nodes come before the ops
that their calls launch and after the ops that they wait for. Ends of edges are places in the
template (ops first, host nodes behind them); latencies are fitted later.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.dependencies import Links, event_links, stream_links
from stepprof.analyses.edges import replay_edges
from stepprof.analyses.graph.host_time import HostNodes
from stepprof.analyses.graph.inferred_edges import infer
from stepprof.analyses.graph.step_graph import (
    EVENT,
    FULL,
    HOST,
    INFERRED,
    LAUNCH,
    PROGRAMMATIC,
    STREAM,
    SYNC,
    Edges,
    Nodes,
    Times,
)
from stepprof.analyses.graph.template import Template
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.profiler.store import Store

LAUNCH_ORDER = 0.5  # confidence that a launch follows the one before it, where only times say so


@dataclasses.dataclass(frozen=True)
class StepOps:
    """The template's ops, starts and ends in ns from the window's start."""

    nodes: Nodes
    start: Times
    end: Times


def inside_launches(
    store: Store, found: Attribution, same: Template, ops: StepOps, use_edges: bool
) -> tuple[Edges, list[dict[str, Any]]]:
    """Edges inside graph launches, recorded or inferred, and signals to spin-waits."""
    nodes = ops.nodes
    recorded = replay_edges(store, found.ops)
    known = recorded.known[same.ops[:, 0]] & use_edges
    made = Edges.of([])
    if known.any():
        pairs, last = _pairs(found, same, recorded.target, recorded.source, recorded.programmatic)
        made = Edges.of(pairs, kind=np.where(last, PROGRAMMATIC, FULL))
    for number in np.unique(nodes.launch[nodes.graph]).tolist():
        at = np.flatnonzero(nodes.graph & (nodes.launch == number))
        blind = ~known[at]
        if not (blind | nodes.wait[at]).any():
            continue
        node = found.ops.node[same.ops[at, 0]]
        times = ops.start[at], ops.end[at], nodes.device[at], nodes.stream[at], node
        some = infer(*times, wanted=None if blind.all() else nodes.wait[at] | blind)
        made = made.plus(dataclasses.replace(some, source=at[some.source], target=at[some.target]))
    guessed = int(np.sum(made.kind == INFERRED) + np.sum(made.kind == STREAM))
    text = (
        f"{guessed} of {len(made)} dependencies inside graphs are inferred from {len(same.steps)} steps, not recorded."
    )
    return made, [{"code": "edges_inferred", "count": guessed, "text": text}] if guessed else []


def _pairs(
    found: Attribution, same: Template, target: Ints, source: Ints, flag: Bools | None = None
) -> tuple[list[tuple[int, int]], Bools]:
    """Links between ops as pairs (source, target) of the template's places, where most steps have them."""
    place = np.full(len(found.ops) + 1, UNKNOWN, dtype=np.int64)
    step = place.copy()
    place[same.ops] = np.arange(len(same.ops))[:, None]
    step[same.ops] = np.arange(same.ops.shape[1])
    kept = (place[source] != UNKNOWN) & (place[target] != UNKNOWN) & (step[source] == step[target])
    key = place[source][kept] * len(same.ops) + place[target][kept]
    pair, at, count = np.unique(key, return_index=True, return_counts=True)
    most = 2 * count >= same.ops.shape[1]
    rows = [(k // len(same.ops), k % len(same.ops)) for k in pair[most].tolist()]
    flags = np.zeros(len(rows), bool) if flag is None else flag[kept][at[most]]
    return rows, flags


def between_launches(store: Store, found: Attribution, same: Template, ops: StepOps, inside: Edges) -> Edges:
    """Stream order and event waits from launch to launch; else the launch before, where times never contradict."""
    nodes, start, end = ops.nodes, ops.start, ops.end
    first = np.ones(len(nodes), bool)
    first[inside.target] = False
    head = np.zeros(len(found.ops), bool)
    head[same.ops[first]] = True
    made = Edges.of([])
    for links, kind in ((stream_links(found.ops, head), STREAM), (event_links(store, found.ops, head), EVENT)):
        made = made.plus(Edges.of(_linked(found, same, links), kind=kind))
    first[made.target] = False
    rows: list[tuple[int, int]] = []
    for number in np.unique(nodes.launch[first])[1:].tolist():
        heads = np.flatnonzero(first & (nodes.launch == number))
        before = _sinks(nodes, inside, number - 1)
        if (
            len(before)
            and _one_thread(found, same, before[0], heads[0])
            and (start[heads].min(axis=0) >= end[before].max(axis=0)).all()
        ):
            rows += [(int(a), int(b)) for a in before for b in heads]
    return made.plus(Edges.of(rows, kind=INFERRED, confidence=LAUNCH_ORDER))


def _one_thread(found: Attribution, same: Template, a: int, b: int) -> bool:
    """Whether one thread launched both ops."""
    launches, launch = found.ops.launches, found.ops.launch[same.ops[[a, b], 0]]
    process, thread = launches.process[launch], launches.thread[launch]
    return bool(process[0] == process[1] and thread[0] == thread[1])


def _linked(found: Attribution, same: Template, links: Links) -> list[tuple[int, int]]:
    rows: set[tuple[int, int]] = set()
    for target, source in links:
        known = (source != UNKNOWN) & (source < target)
        rows |= set(_pairs(found, same, target[known], source[known])[0])
    return sorted(rows)


def _sinks(nodes: Nodes, edges: Edges, launch: int) -> Ints:
    """Nodes of a launch that none of it follows."""
    last = nodes.launch == launch
    last[edges.source] = False
    return np.flatnonzero(last)


def host_edges(host: HostNodes, nodes: Nodes, inside: Edges, between: Edges) -> Edges:
    """Calls to the first ops they launch, thread order, waits, and the ops that the window's end follows."""
    ops = len(nodes)
    first = np.ones(ops, bool)
    first[inside.target] = False
    launches = [
        (ops + node, int(op))
        for node, number in enumerate(host.launch)
        if number != UNKNOWN
        for op in np.flatnonzero(first & (nodes.launch == number))
    ]
    made = Edges.of(launches, kind=LAUNCH)
    made = made.plus(Edges.of([(ops + a, ops + b) for a, b in host.chain], kind=HOST))
    made = made.plus(Edges.of([(op, ops + node) for op, node in host.waits], kind=SYNC))
    if host.follows_ops is not None:
        last = np.ones(ops, bool)
        last[inside.source] = last[between.source] = False
        made = made.plus(Edges.of([(int(op), ops + host.follows_ops) for op in np.flatnonzero(last)], kind=SYNC))
    return made


def clean(edges: Edges) -> Edges:
    """Each pair of nodes once, as the surest says."""
    order = np.lexsort((-edges.confidence, edges.target, edges.source))
    pair = edges.source[order] * (int(edges.target.max(initial=0)) + 1) + edges.target[order]
    return edges.take(order[np.diff(pair, prepend=UNKNOWN) != 0])
