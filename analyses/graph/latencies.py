"""Latencies of a step graph's edges: from the end of what an op waited for to its start.

An edge's latency is the mean over the steps in which it binds, that is, in which its source's
end + latency is the latest of the target's edges, without the lowest and highest tenth: a path
adds hundreds of latencies, and medians of skewed ones add up to too little. An edge that never
binds takes the median of its class, but no more than it was ever seen to leave.

    latency = fitted(graph, np.arange(steps) % 2 == 0)        # [edges] ns
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.graph.step_graph import EDGE_KINDS, FULL, PROGRAMMATIC, Edges, StepGraph, Times
from stepprof.analyses.ops import Bools, Ints

TRIM = 0.1
ROUNDS = 4  # binding edges depend on latencies and these on them; settles in two


def fitted(graph: StepGraph, on: Bools | None = None) -> Ints:
    """Latencies of all edges, [edges] ns, fitted on these steps (default: all)."""
    slack = slacks(graph, on)
    if slack.size == 0:
        return np.zeros(len(graph.edges), dtype=np.int64)
    order = np.argsort(graph.edges.target, kind="stable")
    by_class = classes(graph)[order]
    latency = _fit(slack[order], graph.edges.target[order], by_class)
    result = np.empty(len(order), dtype=np.int64)
    result[order] = latency
    return result


def slacks(graph: StepGraph, on: Bools | None = None) -> Times:
    """start(target) − end(source) of every edge in these steps, [edges, steps] ns."""
    steps = slice(None) if on is None else on
    return graph.start[graph.edges.target][:, steps] - graph.end[graph.edges.source][:, steps]


def classes(graph: StepGraph) -> Ints:
    """A number for each edge; edges of one number are alike: kind, and whether they leave the card.

    Inside a graph launch an edge is a graph edge, whether recorded or not.
    """
    edges, nodes = graph.edges, graph.nodes
    inside = within_launch(graph) & (edges.kind != PROGRAMMATIC)
    kind = np.where(inside, FULL, edges.kind)
    away = nodes.device[edges.source] != nodes.device[edges.target]
    return (kind * 2 + away) * 2 + nodes.wait[edges.target]


def _fit(slack: Times, target: Ints, by_class: Ints) -> Ints:
    """Latencies of edges sorted by target."""
    first = np.flatnonzero(np.diff(target, prepend=-1))
    group = np.cumsum(np.diff(target, prepend=-1) != 0) - 1
    least = slack.min(axis=1)
    alone = np.bincount(group)[group] == 1
    latency = np.minimum(_class_medians(np.median(slack, axis=1), alone, by_class), least)
    for _ in range(ROUNDS):
        margin = slack - latency[:, None]  # how much later the target started than this edge asks
        binds = margin == np.minimum.reduceat(margin, first, axis=0)[group]
        seen = binds.any(axis=1)
        own = _trimmed_means(slack, binds)
        usual = _class_medians(own, seen, by_class)
        latency = np.where(seen, own, np.minimum(usual, least)).round().astype(np.int64)
    return latency


def _trimmed_means(value: Times, which: np.ndarray) -> np.ndarray:
    """Mean of the marked values of each row without the lowest and highest tenth of them; 0 where none is marked."""
    count = which.sum(axis=1)
    cut = (count * TRIM).astype(np.int64)
    place = np.arange(value.shape[1])
    kept = (place >= cut[:, None]) & (place < (count - cut)[:, None])
    in_order = np.sort(np.where(which, value, np.iinfo(np.int64).max), axis=1)
    return np.where(kept, in_order, 0).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)


def _class_medians(value: np.ndarray, known: Bools, by_class: Ints) -> Ints:
    """For each edge the median of the known values of its class, else of all known ones, else 0."""
    result = np.zeros(len(value), dtype=np.int64)
    for code in np.unique(by_class).tolist():
        mine = by_class == code
        some = value[mine & known] if (mine & known).any() else value[known]
        result[mine] = round(float(np.median(some))) if len(some) else 0
    return result


def in_graph_gap(graph: StepGraph) -> int | None:
    """Visible gap g between nodes of one graph launch on one card: median latency of edges, ns; None without any."""
    edges, nodes = graph.edges, graph.nodes
    inside = within_launch(graph) & (nodes.device[edges.source] == nodes.device[edges.target])
    return round(float(np.median(edges.latency[inside]))) if inside.any() else None


def within_launch(graph: StepGraph) -> Bools:
    """Edges between two nodes of one graph launch."""
    edges, nodes = graph.edges, graph.nodes
    both = nodes.graph[edges.source] & nodes.graph[edges.target]
    return both & (nodes.launch[edges.source] == nodes.launch[edges.target])


def kinds_of(edges: Edges) -> dict[str, int]:
    """How many edges are known in which way."""
    count = np.bincount(edges.kind, minlength=len(EDGE_KINDS))
    return {name: int(n) for name, n in zip(EDGE_KINDS, count, strict=True) if n}
