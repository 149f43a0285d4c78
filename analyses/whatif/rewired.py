"""Edits of what waits for what: cuts of a graph, moves to another branch or card, overlap, one after the other.

    with_breaks(graph, first_ops, 2_800)        # a launch boundary before each
    on_a_branch(graph, which, Branch(until))    # beside the chain that they were part of

What an op reads is not on record, only what it waited for: a moved op still waits for what it waited for, and
the proposal says who needs its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from stepprof.analyses.graph.graph_edits import usual_latency, without_nodes
from stepprof.analyses.graph.replay import order
from stepprof.analyses.graph.step_graph import ADDED, Edges, Nodes, StepGraph
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.whatif.op_runs import NONE, runs

Rows = list[tuple[int, int]]


def rank_of(graph: StepGraph) -> Ints:
    """Place of each node in an order that the edges allow."""
    rank = np.empty(len(graph), dtype=np.int64)
    rank[order(graph.edges, len(graph))] = np.arange(len(graph))
    return rank


def ends_of(group: Ints, rank: Ints) -> tuple[Ints, Ints]:
    """First and last member of each group, in the order of the first."""
    members = np.flatnonzero(group != NONE)
    members = members[np.lexsort((rank[members], group[members]))]
    new = np.diff(group[members], prepend=NONE) != 0
    first, last = members[new], members[np.append(new[1:], True)] if len(members) else members
    by = np.argsort(rank[first])
    return first[by], last[by]


def with_breaks(graph: StepGraph, at: Ints, boundary_ns: int) -> StepGraph:
    """The launch of each of these ops cut before it: what follows waits for all before it, plus the boundary."""
    rank, launch = rank_of(graph), graph.nodes.launch
    rows, late, cuts = Rows(), list[int](), 0
    for node in at.tolist():
        mine = (launch == launch[node]) & ~graph.nodes.host
        before, after = mine & (rank < rank[node]), mine & (rank >= rank[node])
        if not before.any():
            continue
        barrier = len(graph) + cuts
        cuts += 1
        sinks = before & ~_touches(
            graph.edges.source, before[graph.edges.source] & before[graph.edges.target], len(graph)
        )
        heads = after & ~_touches(graph.edges.target, after[graph.edges.source] & after[graph.edges.target], len(graph))
        rows += [(n, barrier) for n in np.flatnonzero(sinks).tolist()]
        late += [boundary_ns] * int(sinks.sum())
        rows += [(barrier, n) for n in np.flatnonzero(heads).tolist()]
        late += [0] * int(heads.sum())
    if not cuts:
        return graph
    none = np.zeros((cuts, graph.duration.shape[1]), dtype=np.int64)
    return replace(
        graph,
        nodes=graph.nodes.plus(Nodes.of(["launch boundary"] * cuts, host=[True] * cuts)),
        start=np.concatenate([graph.start, none]),
        duration=np.concatenate([graph.duration, none]),
        heads=np.append(graph.heads, np.zeros(cuts, bool)),
        edges=graph.edges.plus(Edges.of(rows, kind=ADDED, latency=late)),
    )


def _touches(column: Ints, which: Bools, nodes: int) -> Bools:
    """Nodes that occur in a column of the marked edges."""
    found = np.zeros(nodes, bool)
    found[column[which]] = True
    return found


@dataclass(frozen=True)
class Branch:
    """Where moved ops run: who waits for them, on which card (None: the same), how fast, how far away."""

    until: Bools  # [nodes]
    device: int | None = None
    factor: float = 1.0
    signal_ns: int | None = None


def on_a_branch(graph: StepGraph, which: Bools, branch: Branch) -> tuple[StepGraph, int]:
    """The graph with these ops on a branch of their own, one after the other; how many of their runs nobody waits for.

    The next op of `until` behind a run, in today's order, waits for it.
    """
    rank = rank_of(graph)
    last = ends_of(runs(graph, which), rank)[1]
    nodes = graph.nodes
    device = nodes.device if branch.device is None else np.where(which, branch.device, nodes.device)
    duration = graph.duration.copy()
    duration[which] = np.rint(duration[which] * branch.factor).astype(np.int64)
    waiting = np.flatnonzero(branch.until & ~which)
    waiting = waiting[np.argsort(rank[waiting])]
    found = np.searchsorted(rank[waiting], rank[last])
    rows = [(int(n), int(waiting[k])) for n, k in zip(last, found, strict=True) if k < len(waiting)]
    free = len(last) - len(rows)
    own = graph.edges.take(which[graph.edges.target] | (which[graph.edges.source] & nodes.host[graph.edges.target]))
    moved = replace(graph, nodes=replace(nodes, device=device), duration=duration)
    rows += _in_turn(moved, which, rank, own)
    edges = _without(graph, which).plus(_signalled(moved, own, branch)).plus(_linked(moved, rows, branch))
    return replace(moved, edges=edges), free


def _in_turn(graph: StepGraph, which: Bools, rank: Ints, known: Edges) -> Rows:
    """Neighbours in today's order among these ops of each card, where no known edge already links them."""
    there = set(zip(known.source.tolist(), known.target.tolist(), strict=True))
    rows = Rows()
    for card in np.unique(graph.nodes.device[which]).tolist():
        at = np.flatnonzero(which & (graph.nodes.device == card))
        rows += [pair for pair in pairwise(at[np.argsort(rank[at])].tolist()) if pair not in there]
    return rows


def _without(graph: StepGraph, which: Bools) -> Edges:
    """The edges of the graph without these nodes, in its own positions."""
    kept = np.flatnonzero(~which)
    edges = without_nodes(graph, which, with_calls=False).edges
    return replace(edges, source=kept[edges.source], target=kept[edges.target])


def _signalled(graph: StepGraph, edges: Edges, branch: Branch) -> Edges:
    """Edges that now cross cards take the latency between cards; those of host time stay."""
    device, host = graph.nodes.device, graph.nodes.host
    if branch.device is None:
        return edges
    across = (device[edges.source] != device[edges.target]) & ~host[edges.source] & ~host[edges.target]
    signal = usual_latency(graph, same_card=False) if branch.signal_ns is None else branch.signal_ns
    return replace(edges, latency=np.where(across, signal, edges.latency))


def _linked(graph: StepGraph, rows: Rows, branch: Branch) -> Edges:
    """New edges with the latency of one card, or of two."""
    near, far = usual_latency(graph, same_card=True), usual_latency(graph, same_card=False)
    far = far if branch.signal_ns is None else branch.signal_ns
    device = graph.nodes.device
    return Edges.of(rows, kind=ADDED, latency=[near if device[a] == device[b] else far for a, b in rows])


def side_by_side(graph: StepGraph, one: Bools, other: Bools) -> tuple[StepGraph, int]:
    """Runs of the two sets that waited for each other directly no longer do; how many such pairs there were.

    The later run takes over what the earlier one waited for; what followed the later one waits for both.
    """
    group = runs(graph, one)
    second = runs(graph, other & ~one)
    group = np.where(second != NONE, second + group.max(initial=NONE) + 1, group)
    source, target = graph.edges.source, graph.edges.target
    crossing = ((one[source] & other[target]) | (other[source] & one[target])) & (group[source] != group[target])
    more, late, rank = Rows(), list[int](), rank_of(graph)
    start, heads = graph.start.copy(), graph.heads.copy()
    for a, b in set(zip(source[crossing].tolist(), target[crossing].tolist(), strict=True)):
        entering = (group[target] == group[a]) & (group[source] != group[a]) & (rank[source] < rank[b])
        leaving = (group[source] == group[b]) & (group[target] != group[b]) & (rank[target] > rank[a])
        more += [(int(s), b) for s in source[entering]] + [(a, int(t)) for t in target[leaving]]
        late += graph.edges.latency[entering].tolist() + graph.edges.latency[leaving].tolist()
        if not entering.any():
            start[b], heads[b] = graph.start[group == group[a]].min(axis=0), True
    edges = graph.edges.take(~crossing).plus(Edges.of(more, kind=ADDED, latency=late))
    return replace(graph, edges=edges, start=start, heads=heads), int(crossing.sum())


def one_by_one(graph: StepGraph, which: Bools) -> StepGraph:
    """Each of these ops waits for the one before it, in today's order of start."""
    at = np.flatnonzero(which)
    at = at[np.argsort(rank_of(graph)[at])]
    return _more(graph, list(pairwise(at.tolist())))


def behind(graph: StepGraph, which: Bools, after: Bools) -> tuple[StepGraph, int]:
    """Each run of these ops waits for the other set's runs of its layer; how many waits were added."""
    rank, layer = rank_of(graph), graph.nodes.layer
    first, last = ends_of(runs(graph, which), rank)[0], ends_of(runs(graph, after & ~which), rank)[1]
    rows = [(a, b) for b in first.tolist() for a in last.tolist() if layer[a] == layer[b]]
    return _more(graph, rows), len(rows)


def _more(graph: StepGraph, rows: Sequence[tuple[int, int]]) -> StepGraph:
    return replace(graph, edges=graph.edges.plus(_linked(graph, list(rows), Branch(np.zeros(0, bool)))))


def layers_of(graph: StepGraph, which: Bools) -> list[int]:
    """Layers that these nodes are of."""
    return [layer for layer in np.unique(graph.nodes.layer[which]).tolist() if layer != UNKNOWN]
