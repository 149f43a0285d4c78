"""The dependency graph of a run's steps: what a step waits for, ready to be edited and replayed.

Nodes: the ops of the steps that repeat (graph/template.py) and the host time before their calls
(graph/host_time.py). Edges: recorded graph edges, or inferred ones where a graph has none
(graph/inferred_edges.py); stream order and event waits between launches; calls to the ops they launch;
the thread's own order; waits of the host. A spin-wait's end follows a signal, found like an
inferred edge. What a first node follows lies outside the step: it keeps its recorded start.

    graph = build_graph(attribute(store), store)
    replay(graph)                        # [nodes, steps] ns
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.graph.host_time import HostNodes, host_nodes
from stepprof.analyses.graph.latencies import fitted
from stepprof.analyses.graph.step_edges import StepOps, between_launches, clean, host_edges, inside_launches
from stepprof.analyses.graph.step_graph import Nodes, StepGraph, Times
from stepprof.analyses.graph.template import Template, align
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.outside_steps import outside_steps
from stepprof.profiler.store import Store

SHORTEST_WAIT = 2_000  # ns; a spin-wait that never ended sooner did wait each time


def build_graph(
    found: Attribution, store: Store, steps: Sequence[int] | None = None, use_edges: bool = True
) -> StepGraph:
    """The graph of the chosen steps that are alike (default: all whole ones), latencies fitted on all of them.

    `found` must come from `store`. Refused where fewer than two steps repeat. `use_edges=False`
    ignores recorded edges, to test the inference.
    """
    same = align(found, steps)
    host = host_nodes(store, found, same)
    nodes, start, duration = _ops(found, same)
    ops = StepOps(nodes, start, start + duration)
    inside, warnings = inside_launches(store, found, same, ops, use_edges)
    between = between_launches(store, found, same, ops, inside)
    edges = clean(inside.plus(between).plus(host_edges(host, nodes, inside, between)))
    graph = StepGraph(
        nodes=_joined(nodes, host),
        start=np.concatenate([start, np.array(host.start).reshape(-1, start.shape[1])]),
        duration=np.concatenate([duration, np.array(host.duration).reshape(-1, start.shape[1])]),
        edges=edges,
        heads=np.zeros(len(nodes) + len(host.name), bool),
        wall=found.steps.wall[same.steps],
        steps=same.steps,
        left_out=same.left_out,
        source=found.source,
        gpu=_gpu(store, nodes),
        warnings=_warnings(found, same) + warnings,
    )
    graph = _in_order(_with_heads(graph))
    return dataclasses.replace(graph, edges=dataclasses.replace(graph.edges, latency=fitted(graph)))


def _ops(found: Attribution, same: Template) -> tuple[Nodes, Times, Times]:
    """The template's ops, their starts and durations; spin-waits are as short as any of their name ever was."""
    ops, roles, at = found.ops, found.roles, same.ops[:, 0]
    start = ops.start[same.ops] - found.steps.windows.start[same.steps]
    duration = ops.duration[same.ops]
    wait = found.waits[at]
    for name in np.unique(ops.name[at][wait]).tolist():
        mine = np.flatnonzero(wait & (ops.name[at] == name))
        kept = np.minimum(duration[mine], min(int(duration[mine].min()), SHORTEST_WAIT))
        start[mine] += duration[mine] - kept
        duration[mine] = kept
    labels = [found.labels.paths[i] if i != UNKNOWN else () for i in found.labels.of_op[at].tolist()]
    codes = {key: getattr(roles, key)[at].astype(np.int64) for key in ("role", "kind", "layer", "phase")}
    nodes = Nodes.of(
        [ops.names[i] for i in ops.name[at].tolist()],
        label=labels,
        device=ops.device[at],
        stream=ops.stream[at],
        launch=same.launch,
        graph=ops.in_graph[at],
        wait=wait,
        **codes,
    )
    return nodes, start, duration


def _joined(nodes: Nodes, host: HostNodes) -> Nodes:
    """Ops, then host nodes."""
    return nodes.plus(Nodes.of(host.name, host=[True] * len(host.name), launch=np.array(host.launch, dtype=np.int64)))


def _with_heads(graph: StepGraph) -> StepGraph:
    """Mark nodes without a predecessor in the step."""
    heads = np.ones(len(graph), bool)
    heads[graph.edges.target] = False
    return dataclasses.replace(graph, heads=heads)


def _in_order(graph: StepGraph) -> StepGraph:
    """Nodes by median start; edges that run against it are dropped, as the times contradict them."""
    by = np.lexsort((np.median(graph.end, axis=1), ~graph.nodes.host, np.median(graph.start, axis=1)))
    place = np.empty(len(by), dtype=np.int64)
    place[by] = np.arange(len(by))
    edges = dataclasses.replace(graph.edges, source=place[graph.edges.source], target=place[graph.edges.target])
    forward = edges.source < edges.target
    lost = int(np.sum(~forward))
    text = f"{lost} dependencies run against the order in which their ops start and were left out."
    return dataclasses.replace(
        graph,
        nodes=graph.nodes.take(by),
        start=np.ascontiguousarray(graph.start[by]),
        duration=np.ascontiguousarray(graph.duration[by]),
        edges=edges.take(forward),
        heads=graph.heads[by],
        warnings=graph.warnings + ([{"code": "edge_against_time", "count": lost, "text": text}] if lost else []),
    )


def _gpu(store: Store, nodes: Nodes) -> str:
    """Product name of the card with most ops."""
    main = int(np.bincount(nodes.device[nodes.device != UNKNOWN], minlength=1).argmax())
    return store.value("SELECT name FROM device WHERE device = ?", main) or ""


def _warnings(found: Attribution, same: Template) -> list[dict[str, Any]]:
    lost = same.left_out
    text = f"{lost} of {lost + len(same.steps)} steps run other ops than most and are not in the replay."
    unlike = [{"code": "steps_unlike", "count": lost, "text": text}] if lost else []
    return [*found.warnings, *unlike, *outside_steps(found, same.steps)]
