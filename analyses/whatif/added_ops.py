"""Ops that a proposal puts into a step graph: one more op, or one op as several.

with_ops(graph, at, 5_000)          # one of 5 us behind each of these nodes
in_parts(graph, which, 3, assume)   # each op as three that share its work
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from stepprof.analyses.graph.graph_edits import usual_latency
from stepprof.analyses.graph.step_graph import ADDED, Edges, StepGraph, Times
from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.whatif.assumptions import Assumptions


def with_ops(
    graph: StepGraph, at: Ints, duration: Times | int, side: Literal["after", "before"] = "after", name: str = "added"
) -> StepGraph:
    """One more op beside each of these nodes, in its chain and with its role; the usual latency lies between the two.

    `duration` is in ns: one for all, or [len(at), steps]. Behind a node, all that waited for it
    waits for the new op; before a node, the new op waits for all that it waited for.
    """
    count, steps = len(graph), graph.duration.shape[1]
    new = np.full(count, -1, dtype=np.int64)
    new[at] = count + np.arange(len(at))
    edges = graph.edges
    if side == "after":
        moved = replace(edges, source=np.where(new[edges.source] >= 0, new[edges.source], edges.source))
        rows = np.stack([at, new[at]], axis=1)
    else:
        moved = replace(edges, target=np.where(new[edges.target] >= 0, new[edges.target], edges.target))
        rows = np.stack([new[at], at], axis=1)
    between = Edges.of(rows.tolist(), kind=ADDED, latency=usual_latency(graph, same_card=True))
    more = graph.nodes.take(at)
    length = np.broadcast_to(np.asarray(duration, dtype=np.int64), (len(at), steps))
    leads = graph.heads[at] if side == "before" else np.zeros(len(at), bool)
    heads = graph.heads.copy()
    if side == "before":
        heads[at] = False
    return replace(
        graph,
        nodes=graph.nodes.plus(replace(more, name=[name] * len(at), wait=np.zeros(len(at), bool))),
        start=np.concatenate([graph.start, graph.start[at]]),
        duration=np.concatenate([graph.duration, length]),
        edges=moved.plus(between),
        heads=np.concatenate([heads, leads]),
    )


def in_parts(graph: StepGraph, which: Bools, parts: int, assume: Assumptions) -> StepGraph:
    """Each op as `parts` ops: each boundary adds a node cost, its gap between the parts, the ramp in their durations."""
    at = np.flatnonzero(which)
    ramp = max(0, assume.node_ns - usual_latency(graph, same_card=True))
    whole = graph.duration[at] + (parts - 1) * ramp
    share = whole // parts
    duration = graph.duration.copy()
    duration[at] = whole - (parts - 1) * share
    made = replace(graph, duration=duration)
    for n in range(parts, 1, -1):  # the last part first: each is put directly behind its op
        made = with_ops(made, at, share, "after", name=f"part {n} of {parts}")
    return made
