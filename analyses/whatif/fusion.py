"""Runs of ops made into one op each: what a fusion saves, and the graph with it.

A fused op of n ops in a chain saves n − 1 node costs c = g + r: the visible gap g of each boundary goes with
its edge (a gap longer than c goes wholly), the ramp r = c − g (start-up and drain) comes out of the duration;
parts that overlapped (PDL, g below 0) have it once. Where the traffic of every part is known, what one part
writes and the next reads stays on chip. Never below the roofline of what is left, and never below the longest
part where traffic is unknown.

    fused(graph, group, assume)          # group [nodes]: number of the op it becomes part of, NONE
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np

from stepprof.analyses.graph.graph_edits import without_nodes
from stepprof.analyses.graph.replay import NEVER, order
from stepprof.analyses.graph.step_graph import StepGraph, Times
from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.op_runs import NONE
from stepprof.analyses.whatif.proposal_model import Given


def fused(
    graph: StepGraph,
    group: Ints,
    assume: Assumptions,
    to_us: Given | None = None,
    bandwidth: Given | None = None,
) -> StepGraph:
    """The graph with each group as one op, at the place of its last part; groups of one op stay as they are."""
    group = _of_several(group)
    if (group == NONE).all():
        return graph
    parts, last = _last_parts(graph, group)
    length = _durations(graph, group, parts, assume, bandwidth)
    if to_us is not None:
        length = np.full_like(length, round(1000 * assume.of(to_us)))
    return _contracted(graph, group, last, length)


def _of_several(group: Ints) -> Ints:
    """Groups of at least two, numbered without holes."""
    count = np.bincount(group[group != NONE], minlength=1)
    several = (group != NONE) & (count[np.maximum(group, 0)] > 1)
    made = np.full(len(group), NONE, dtype=np.int64)
    made[several] = np.unique(group[several], return_inverse=True)[1]
    return made


def _last_parts(graph: StepGraph, group: Ints) -> tuple[Ints, Ints]:
    """Members sorted by group and order along the edges; the last member of each group."""
    rank = np.empty(len(graph), dtype=np.int64)
    rank[order(graph.edges, len(graph))] = np.arange(len(graph))
    parts = np.flatnonzero(group != NONE)
    parts = parts[np.lexsort((rank[parts], group[parts]))]
    ends = np.append(np.flatnonzero(np.diff(group[parts])), len(parts) - 1)
    return parts, parts[ends]


def _durations(graph: StepGraph, group: Ints, parts: Ints, assume: Assumptions, bandwidth: Given | None) -> Times:
    """Length of each fused op, [groups, steps] ns."""
    first = np.flatnonzero(np.diff(group[parts], prepend=-1))
    length = graph.duration[parts]
    own = np.maximum(length - _ramps(graph, group, assume.node_ns)[parts][:, None], 0)
    longest = np.maximum.reduceat(length, first, axis=0)
    whole = np.maximum(np.add.reduceat(own, first, axis=0), longest)
    saved, floor = _traffic(graph, parts, first, assume, bandwidth)  # [groups]
    return np.where(floor[:, None] >= 0, np.maximum(whole - saved[:, None], np.minimum(floor[:, None], whole)), whole)


def _ramps(graph: StepGraph, group: Ints, node_ns: int) -> Ints:
    """What each part's own start-up and drain take of its duration, [nodes] ns; 0 for the first of a group."""
    edges = graph.edges
    inner = (group[edges.source] == group[edges.target]) & (group[edges.target] != NONE)
    gap = np.full(len(graph), NEVER)
    np.maximum.at(gap, edges.target[inner], edges.latency[inner])
    return np.maximum(node_ns - np.where(gap == NEVER, node_ns, gap), 0)


def _traffic(
    graph: StepGraph, parts: Ints, first: Ints, assume: Assumptions, bandwidth: Given | None
) -> tuple[Ints, Ints]:
    """Time of the intermediates that stay on chip and of the traffic that is left, ns; −1 where traffic is unknown."""
    none = np.full(len(first), -1, dtype=np.int64)
    if not assume.costs:
        return np.zeros_like(none), none
    read, written, known = (column[parts] for column in assume.traffic(graph.nodes))
    inner = np.append(np.diff(np.searchsorted(first, np.arange(len(parts)), "right")) == 0, False)
    kept = np.where(inner, np.minimum(written, np.append(read[1:], 0)), 0)
    whole = np.logical_and.reduceat(known, first)
    on_chip = 2 * np.add.reduceat(kept, first)
    left = np.add.reduceat(read + written, first) - on_chip
    devices = graph.nodes.device[parts[first]].tolist()
    rate = np.array([assume.bandwidth(d, bandwidth) if ok else 1.0 for d, ok in zip(devices, whole, strict=True)])
    return np.where(whole, on_chip / rate, 0).astype(np.int64), np.where(whole, left / rate, -1).astype(np.int64)


def _contracted(graph: StepGraph, group: Ints, last: Ints, length: Times) -> StepGraph:
    """Every group drawn together in its last member."""
    member = group != NONE
    place = np.where(member, last[np.maximum(group, 0)], np.arange(len(graph)))
    source, target = place[graph.edges.source], place[graph.edges.target]
    edges = replace(graph.edges, source=source, target=target).take(source != target)
    start, duration, heads = graph.start.copy(), graph.duration.copy(), graph.heads.copy()
    duration[last] = length
    for n, node in enumerate(last.tolist()):
        start[node] = graph.start[group == n].min(axis=0)
        heads[node] = graph.heads[group == n].any()
    names = list(graph.nodes.name)
    for n, node in enumerate(last.tolist()):
        names[node] = f"{np.sum(group == n)} ops fused, the last {names[node]}"
    made = replace(
        graph, nodes=replace(graph.nodes, name=names), start=start, duration=duration, heads=heads, edges=edges
    )
    gone = member.copy()
    gone[last] = False
    return _dropped(made, gone)


def _dropped(graph: StepGraph, gone: Bools) -> StepGraph:
    """Without members that carry no edge any more, and without the calls that launched nothing but them."""
    place, keep = np.cumsum(~gone) - 1, np.flatnonzero(~gone)
    launches = graph.nodes.launch[gone]
    edges = replace(graph.edges, source=place[graph.edges.source], target=place[graph.edges.target])
    left = dataclasses.replace(
        graph,
        nodes=graph.nodes.take(keep),
        start=graph.start[keep],
        duration=graph.duration[keep],
        edges=edges,
        heads=graph.heads[keep],
    )
    busy = left.nodes.launch[~left.nodes.host]
    idle = left.nodes.host & np.isin(left.nodes.launch, np.setdiff1d(launches, busy))
    return without_nodes(left, idle, with_calls=False) if idle.any() else left
