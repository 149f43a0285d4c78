"""Contiguous runs of selected nodes along a step graph's dependencies, and chains of ops by name.

    runs(graph, which)                    # [nodes] number of the run, NONE where not selected
    chains(graph, which, patterns)        # the same for ops that follow one another with these names

A run stays on one card and in one graph launch (single launches may follow one another), and may become one op:
no path leaves it and comes back. Inputs that a later member waits for are allowed; the run as one op waits for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from stepprof.analyses.graph.replay import order
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import Bools, Ints

NONE = -1


def runs(graph: StepGraph, which: Bools, within_layer: bool = False, simple: bool = False) -> Ints:
    """The run of each node, numbered in order; a node without a selected neighbour is a run of its own.

    A `simple` run is a plain chain: nothing enters or leaves between its members.
    """
    before, after = neighbours(graph)
    device, layer, chosen = graph.nodes.device.tolist(), graph.nodes.layer.tolist(), which.tolist()
    launch, graphs = graph.nodes.launch.tolist(), graph.nodes.graph.tolist()
    ancestors = _ancestors(graph, before)
    members, found = list[int](), [NONE] * len(graph)
    for node in order(graph.edges, len(graph)):
        if not chosen[node]:
            continue
        for source in reversed(before[node]):
            alike = device[source] == device[node] and (not within_layer or layer[source] == layer[node])
            alike = alike and (launch[source] == launch[node] or not (graphs[source] or graphs[node]))
            alike = alike and (not simple or len(before[node]) == len(after[source]) == 1)
            run = found[source]
            if alike and run != NONE and not _leaves(before[node], ancestors, members[run]):
                found[node] = run
                members[run] |= 1 << node
                break
        else:
            found[node] = len(members)
            members.append(1 << node)
    return np.array(found, dtype=np.int64)


def _ancestors(graph: StepGraph, before: Sequence[Sequence[int]]) -> list[int]:
    """Every node that a node waits for in the end, as the bits of a number."""
    found = [0] * len(graph)
    for node in order(graph.edges, len(graph)):
        for source in before[node]:
            found[node] |= found[source] | 1 << source
    return found


def _leaves(sources: Sequence[int], ancestors: Sequence[int], members: int) -> bool:
    """Whether a path from the run reaches one of these sources from outside it."""
    return any(not members >> source & 1 and ancestors[source] & members for source in sources)


def chains(graph: StepGraph, which: Bools, patterns: Sequence[str]) -> Ints:
    """Non-overlapping chains of selected ops whose names match the patterns in turn, each on one card and in one graph launch."""
    (before, after), nodes = neighbours(graph), graph.nodes
    ancestors, names = _ancestors(graph, before), nodes.name
    graphs = np.where(nodes.graph, nodes.launch, NONE)  # single launches count as one place
    where = list(zip(nodes.device.tolist(), graphs.tolist(), strict=True))
    fits = [_named(names, pattern) & which for pattern in patterns]
    found, count = np.full(len(graph), NONE, dtype=np.int64), 0
    for head in np.flatnonzero(fits[0]).tolist():
        chain, bits = [head], 1 << head
        for fit in fits[1:]:
            following = [n for n in after[chain[-1]] if fit[n] and where[n] == where[head] and not bits >> n & 1]
            following = [n for n in following if not _leaves(before[n], ancestors, bits)]
            if not following:
                break
            chain.append(following[0])
            bits |= 1 << following[0]
        if len(chain) == len(patterns) and (found[chain] == NONE).all():
            found[chain] = count
            count += 1
    return found


def _named(names: Sequence[str], pattern: str) -> Bools:
    compiled = re.compile(pattern)
    found = {name: compiled.search(name) is not None for name in set(names)}
    return np.array([found[name] for name in names], dtype=bool)


def neighbours(graph: StepGraph) -> tuple[list[list[int]], list[list[int]]]:
    """For each node its sources and its targets, in order of position."""
    before: list[list[int]] = [[] for _ in range(len(graph))]
    after: list[list[int]] = [[] for _ in range(len(graph))]
    by = np.lexsort((graph.edges.target, graph.edges.source))
    for source, target in zip(graph.edges.source[by].tolist(), graph.edges.target[by].tolist(), strict=True):
        after[source].append(target)
        before[target].append(source)
    return before, after
