"""Recorded graph edges between the ops of each replay.

Nodes that never run as an op (empty, event and host nodes) are contracted: their
dependents depend on what they depend on. An edge holds for every replay of its graph.

    edges = replay_edges(store, ops)
    edges.source[k] must end before edges.target[k] may start
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.intervals import count_up
from stepprof.analyses.ops import UNKNOWN, Bools, Ints, Ops
from stepprof.profiler.store import Store


@dataclass(frozen=True)
class ReplayEdges:
    """One entry an edge instance, ends as op indices; `known` marks ops whose graph has recorded edges."""

    source: Ints
    target: Ints
    programmatic: Bools
    known: Bools
    contradicted: int  # instances whose source started after its target: left out
    apart_source: Ints  # of those the ones between two cards, which show that their clocks are apart
    apart_target: Ints

    @staticmethod
    def none(ops: int) -> ReplayEdges:
        """No edges on record for so many ops."""
        empty = np.zeros(0, np.int64)
        return ReplayEdges(empty, empty, np.zeros(0, bool), np.zeros(ops, bool), 0, empty, empty)


def replay_edges(store: Store, ops: Ops) -> ReplayEdges:
    """Edge instances of all replays, from table graph_edge."""
    rows = store.rows("SELECT from_node, to_node, bool_and(kind = 'programmatic') FROM graph_edge GROUP BY ALL")
    nodes = np.unique(ops.node[ops.node != UNKNOWN])
    edges = contract([(a, b, p) for a, b, p in rows], set(nodes.tolist()))
    if not edges:
        return ReplayEdges.none(len(ops))
    table = np.array(sorted(edges), dtype=np.int64)
    return _instances(
        ops, nodes, np.searchsorted(nodes, table[:, 0]), np.searchsorted(nodes, table[:, 1]), table[:, 2] == 1
    )


def contract(edges: list[tuple[int, int, bool]], present: set[int]) -> set[tuple[int, int, int]]:
    """Edges between present nodes only; a path through absent nodes becomes one full edge."""
    before: dict[int, list[tuple[int, bool]]] = {}
    for a, b, programmatic in edges:
        before.setdefault(b, []).append((a, programmatic))
    result: set[tuple[int, int, int]] = set()
    for b in before.keys() & present:
        result |= {(a, b, int(p)) for a, p in _present_before(b, before, present)}
    return result


def _present_before(node: int, before: dict[int, list[tuple[int, bool]]], present: set[int]) -> set[tuple[int, bool]]:
    found: set[tuple[int, bool]] = set()
    seen: set[int] = set()
    stack = list(before[node])
    while stack:
        a, programmatic = stack.pop()
        if a in present:
            found.add((a, programmatic))
        elif a not in seen:
            seen.add(a)
            stack += [(x, False) for x, _ in before.get(a, [])]
    return found


def _instances(ops: Ops, nodes: Ints, a: Ints, b: Ints, programmatic: Bools) -> ReplayEdges:
    """Each edge in each replay: for every op, the op of the same launch at the edge's source."""
    order = np.argsort(b, kind="stable")
    a, b, programmatic = a[order], b[order], programmatic[order]
    fan_in = np.bincount(b, minlength=len(nodes))
    first = np.concatenate([[0], np.cumsum(fan_in)])[:-1]

    at = np.flatnonzero(ops.node != UNKNOWN)
    node = np.searchsorted(nodes, ops.node[at])
    target = np.repeat(at, fan_in[node])
    edge = np.repeat(first[node], fan_in[node]) + count_up(fan_in[node])

    key = ops.launch[at] * len(nodes) + node
    by_key = np.argsort(key, kind="stable")
    wanted = ops.launch[target] * len(nodes) + a[edge]
    found = np.searchsorted(key[by_key], wanted)
    found = np.minimum(found, len(at) - 1)
    exists = key[by_key][found] == wanted
    source = at[by_key][found]

    touched = np.zeros(len(nodes), bool)
    touched[a] = touched[b] = True
    known_launch = np.zeros(len(ops.launches.graph), bool)
    known_launch[ops.launch[at[touched[node]]]] = True
    good = exists & (source < target)
    apart = exists & ~good & (ops.device[source] != ops.device[target])
    return ReplayEdges(
        source=source[good],
        target=target[good],
        programmatic=programmatic[edge][good],
        known=known_launch[ops.launch] & (ops.node != UNKNOWN),
        contradicted=int(np.sum(exists & ~good)),
        apart_source=source[apart],
        apart_target=target[apart],
    )
