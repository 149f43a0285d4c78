"""Edits of a step graph that touch its edges: leave nodes out, add dependencies.

shorter = without_nodes(graph, graph.nodes.role == ROLES.index("norm"))
serial = with_edges(graph, [(3, 7)])
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from stepprof.analyses.graph.latencies import within_launch
from stepprof.analyses.graph.step_graph import ADDED, Edges, StepGraph
from stepprof.analyses.ops import UNKNOWN, Bools

Link = tuple[int, float, int]  # kind, confidence, latency


def without_nodes(graph: StepGraph, which: Bools, with_calls: bool = True) -> StepGraph:
    """The graph without these nodes: what followed one follows what came before it.

    On a chain of one card a node's duration and the gap before it go; a signal between cards stays
    where it still crosses cards. With `with_calls` a launch call goes with the last op it launched.
    """
    which = which | (_idle_calls(graph, which) if with_calls else False)
    before, after = _links(graph)
    usual = usual_latency(graph, same_card=True)
    device = graph.nodes.device.tolist()
    for node in np.flatnonzero(which).tolist():
        for source, entry in before[node].items():
            del after[source][node]
            for target, leave in after[node].items():
                link = _bridged(entry, leave, (device[source], device[node], device[target]), usual)
                if target not in after[source]:
                    after[source][target] = before[target][source] = link
        for target in after[node]:
            del before[target][node]
        before[node], after[node] = {}, {}
    return _kept(graph, ~which, after)


def _idle_calls(graph: StepGraph, which: Bools) -> Bools:
    """Calls all of whose ops are left out."""
    nodes = graph.nodes
    busy = np.unique(nodes.launch[~which & ~nodes.host])
    gone = np.setdiff1d(np.unique(nodes.launch[which & ~nodes.host]), busy)
    return nodes.host & np.isin(nodes.launch, gone) & (nodes.launch != UNKNOWN)


def _links(graph: StepGraph) -> tuple[list[dict[int, Link]], list[dict[int, Link]]]:
    """For each node the edges that enter it by source, and those that leave it by target."""
    before: list[dict[int, Link]] = [{} for _ in range(len(graph))]
    after: list[dict[int, Link]] = [{} for _ in range(len(graph))]
    edges = graph.edges
    columns = (edges.source, edges.target, edges.kind, edges.confidence, edges.latency)
    for source, target, kind, confidence, latency in zip(*(column.tolist() for column in columns), strict=True):
        after[source][target] = before[target][source] = (kind, confidence, latency)
    return before, after


def _bridged(entry: Link, leave: Link, device: tuple[int, int, int], usual: int) -> Link:
    """The edge over a node that is left out, from those into and out of it."""
    source, node, target = device
    confidence = min(entry[1], leave[1])
    if source == node:
        return leave[0], confidence, leave[2]
    if node == target:
        return entry[0], confidence, entry[2]
    return ADDED, confidence, usual if source == target else max(entry[2], leave[2])


def _kept(graph: StepGraph, keep: Bools, after: list[dict[int, Link]]) -> StepGraph:
    """The kept nodes with these edges; nodes that follow nothing any more start with the step."""
    place = np.cumsum(keep) - 1
    rows = [
        (int(place[a]), int(place[b]), *link) for a in np.flatnonzero(keep).tolist() for b, link in after[a].items()
    ]
    edges = Edges.of(
        [row[:2] for row in rows],
        kind=[row[2] for row in rows],
        confidence=[row[3] for row in rows],
        latency=[row[4] for row in rows],
    )
    at = np.flatnonzero(keep)
    times = {"start": graph.start[at], "duration": graph.duration[at], "heads": graph.heads[at]}
    return dataclasses.replace(graph, nodes=graph.nodes.take(at), edges=edges, **times)


def with_edges(graph: StepGraph, rows: Sequence[tuple[int, int]], latency: int | None = None) -> StepGraph:
    """The graph with more dependencies (source, target), of usual latency where none is given."""
    device = graph.nodes.device
    usual = [usual_latency(graph, bool(device[a] == device[b])) if latency is None else latency for a, b in rows]
    return dataclasses.replace(graph, edges=graph.edges.plus(Edges.of(rows, kind=ADDED, latency=usual)))


def usual_latency(graph: StepGraph, same_card: bool) -> int:
    """Median latency of the edges inside graph launches on one card, or between cards; else of all op edges; 0 if none."""
    edges, nodes = graph.edges, graph.nodes
    ops = ~(nodes.host[edges.source] | nodes.host[edges.target])
    alike = ops & ((nodes.device[edges.source] == nodes.device[edges.target]) == same_card)
    for which in (alike & within_launch(graph), alike):
        if which.any():
            return round(float(np.median(edges.latency[which])))
    return 0
