"""Replay of a step graph: when every node ends if its edges are all that holds it back.

start(target) = max over its edges of end(source) + latency: the longest path, over all steps at
once (one pass over the nodes, numpy over the steps). No assumption on what else was slow.

    end = replay(graph)                                        # [nodes, steps] ns
    wall_of(replay(dataclasses.replace(graph, duration=shorter)))
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.graph.latencies import fitted
from stepprof.analyses.graph.step_graph import Edges, StepGraph, Times, span_of
from stepprof.analyses.ops import Bools, Ints
from stepprof.profiler.errors import UsageError

NEVER = -(2**62)  # ns; a node that follows others has no start of its own


def replay(
    graph: StepGraph, duration: Times | None = None, latency: Ints | None = None, without: Bools | None = None
) -> Times:
    """Ends of all nodes, [nodes, steps] ns; UsageError where the edges run in a circle.

    `duration` [nodes, steps] and `latency` [edges] stand in for the graph's own; `without` marks
    edges to leave out. Nodes and edges to add go into the graph itself.
    """
    duration = graph.duration if duration is None else duration
    edges = graph.edges if latency is None else dataclasses.replace(graph.edges, latency=latency)
    edges = edges if without is None else edges.take(~without)
    sources, latencies, first = _by_target(edges, len(graph))
    end = np.empty(duration.shape, dtype=np.int64)
    rows, lengths = list(end), list(np.ascontiguousarray(duration))  # views: one row a node
    released = _released(graph, first)
    arrival = np.empty(duration.shape[1], dtype=np.int64)
    for node in order(edges, len(graph)):
        row = rows[node]
        row[:] = released[node]
        for k in range(first[node], first[node + 1]):
            source, late = sources[k], latencies[k]
            if late >= 0:
                np.add(rows[source], late, out=arrival)
            else:  # not before the source itself starts
                np.add(rows[source], np.maximum(late, -lengths[source]), out=arrival)
            np.maximum(row, arrival, out=row)
        row += lengths[node]
    return end


def _released(graph: StepGraph, first: list[int]) -> Times:
    """The earliest start of every node: recorded for heads; the window's start for others that follow nothing."""
    follows = np.diff(first) > 0
    return np.where(graph.heads[:, None], graph.start, np.where(follows, NEVER, 0)[:, None])


def _by_target(edges: Edges, nodes: int) -> tuple[list[int], list[int], list[int]]:
    """Sources and latencies sorted by target, and where each target's begin."""
    by = np.argsort(edges.target, kind="stable")
    first = np.searchsorted(edges.target[by], np.arange(nodes + 1))
    return edges.source[by].tolist(), edges.latency[by].tolist(), first.tolist()


def order(edges: Edges, nodes: int) -> list[int]:
    """Nodes so that every source comes before its targets; as they are wherever that holds."""
    if (edges.source < edges.target).all():
        return list(range(nodes))
    waiting = np.bincount(edges.target, minlength=nodes)
    by = np.argsort(edges.source, kind="stable")
    first = np.searchsorted(edges.source[by], np.arange(nodes + 1)).tolist()
    targets, ready, found = edges.target[by].tolist(), np.flatnonzero(waiting == 0).tolist()[::-1], list[int]()
    while ready:
        node = ready.pop()
        found.append(node)
        for target in targets[first[node] : first[node + 1]]:
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    if len(found) < nodes:
        stuck = int(np.flatnonzero(waiting > 0)[0])
        raise UsageError(f"the edits make node {stuck} wait for itself: leave one of the added dependencies out.")
    return found


def wall_of(end: Times) -> Ints:
    """Replayed length of each step's window, [steps] ns: the last node's end."""
    return end.max(axis=0, initial=0)


def gpu_span_of(graph: StepGraph, end: Times, duration: Times | None = None) -> Ints:
    """Replayed first op start to last op end of each step, ns."""
    return span_of(graph.nodes, end - (graph.duration if duration is None else duration), end)


@dataclass(frozen=True)
class HeldOutError:
    """How far the unedited graph's replay is off on steps that its latencies were not fitted on; shares of the span."""

    steps: int
    span_median: float
    span_max: float
    wall_median: float
    wall_max: float
    span_bias: float  # signed median: above 0 the replay is too long


def held_out_error(graph: StepGraph) -> HeldOutError:
    """Fit on the even steps and replay the odd ones, and the other way round."""
    even = np.arange(graph.duration.shape[1]) % 2 == 0
    span, wall = np.zeros(len(even)), np.zeros(len(even))
    for fit_on in (even, ~even):
        latency, held = fitted(graph, fit_on), steps_of(graph, ~fit_on)
        end = replay(held, latency=latency)
        span[~fit_on] = gpu_span_of(held, end) / np.maximum(held.gpu_span, 1) - 1
        wall[~fit_on] = wall_of(end) / np.maximum(held.wall, 1) - 1
    return HeldOutError(
        steps=len(even),
        span_median=float(np.median(np.abs(span))),
        span_max=float(np.abs(span).max()),
        wall_median=float(np.median(np.abs(wall))),
        wall_max=float(np.abs(wall).max()),
        span_bias=float(np.median(span)),
    )


def steps_of(graph: StepGraph, which: Bools) -> StepGraph:
    """The same template with only these of its steps."""
    steps = [step for step, kept in zip(graph.steps, which.tolist(), strict=False) if kept]
    start, duration = graph.start[:, which], graph.duration[:, which]
    return dataclasses.replace(graph, start=start, duration=duration, wall=graph.wall[which], steps=steps)
