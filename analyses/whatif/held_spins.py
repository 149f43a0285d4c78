"""Spin-waits whose release an edit cannot move: what released them is no op of the graph.

A sidecar in a process of its own, or one that stays resident, lets a spin of the main card go by a flag in memory.
Such a spin keeps the moment at which it was let go, whatever becomes of the sidecar's ops, so a proposal about the
sidecar says in a note that it must name role `wait` as well.

    note = held_spins(graph, touched)      # "" where there is nothing to say
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import UNKNOWN, Bools
from stepprof.analyses.vocabulary import ROLES

SIDECAR = [i for i, role in enumerate(ROLES) if role.startswith("sidecar")]


def held_spins(graph: StepGraph, touched: Bools) -> str:
    """The note on an edit of these nodes, where they belong to a sidecar and spins stay that it cannot let go."""
    nodes = graph.nodes
    main = int(np.bincount(nodes.device[nodes.device != UNKNOWN], minlength=1).argmax())
    sidecar = np.isin(nodes.role, SIDECAR) | ((nodes.device != UNKNOWN) & (nodes.device != main))
    spins = np.flatnonzero(nodes.wait & ~touched & ~_released(graph))
    if not (touched & sidecar).any() or len(spins) == 0:
        return ""
    return (
        f"{len(spins)} spin-waits keep the moment at which they were let go ({_waited_ms(graph, spins):.3f} ms a step before "
        'it): what let them go is no op here, so name role "wait" as well where the answer comes sooner'
    )


def _released(graph: StepGraph) -> Bools:
    """Nodes that wait for an op of another card."""
    nodes, edges = graph.nodes, graph.edges
    across = nodes.device[edges.source] != nodes.device[edges.target]
    across &= (nodes.device[edges.source] != UNKNOWN) & (nodes.device[edges.target] != UNKNOWN)
    found = np.zeros(len(nodes), bool)
    found[edges.target[across]] = True
    return found


def _waited_ms(graph: StepGraph, spins: np.ndarray) -> float:
    """From when what a spin follows had ended to its end, mean over steps, ms."""
    edges, total = graph.edges, 0.0
    for spin in spins.tolist():
        before = edges.source[edges.target == spin]
        if len(before):
            total += float((graph.start[spin] - graph.end[before].max(axis=0)).clip(0).mean())
    return total / 1e6
