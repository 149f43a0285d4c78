"""How late each node could end without the step ending later, and how often it is critical.

found = slack(graph)
found.ns[5], found.critical_share[5]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.graph.replay import order, replay
from stepprof.analyses.graph.step_graph import StepGraph, Times


@dataclass(frozen=True)
class Slack:
    """Slack in the replayed steps; `modelled`, as the replay is."""

    ns: Times  # 0 on a longest path
    critical_share: np.ndarray[tuple[int], np.dtype[np.float64]]  # [nodes] share of steps without slack


def slack(graph: StepGraph, end: Times | None = None) -> Slack:
    """Slack of every node; `end` is the graph's own replay where it is at hand. One pass back over the nodes."""
    end = replay(graph) if end is None else end
    edges = graph.edges
    by = np.argsort(edges.source, kind="stable")
    first = np.searchsorted(edges.source[by], np.arange(len(graph) + 1)).tolist()
    targets, latency = edges.target[by].tolist(), edges.latency[by].tolist()
    latest = np.repeat(end.max(axis=0, initial=0)[None], len(graph), axis=0)
    duration = graph.duration
    for node in reversed(order(edges, len(graph))):
        for k in range(first[node], first[node + 1]):
            late = latency[k] if latency[k] >= 0 else np.maximum(latency[k], -duration[node])
            np.minimum(latest[node], latest[targets[k]] - duration[targets[k]] - late, out=latest[node])
    left = latest - end
    return Slack(left, (left == 0).mean(axis=1))
