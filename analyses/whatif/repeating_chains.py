"""Chains of small ops that repeat layer by layer and could be one op each: candidates for a fusion.

A chain is ops that follow each other on one card, where nothing else waits for an op but the next and
the next waits for nothing else; its kinds can be fused, a GEMM only at an end, and its names come
again in other layers. Of chains that overlap, the one that leaves most ops out is taken.

    for chain in repeating_chains(graph, slack(graph)):
        print(chain.names, chain.layers, chain.saved_ops)

What is not seen: an op whose answer is also read much later. Graph edges order ops, they do not name buffers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.graph.slack import Slack
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.vocabulary import KINDS

FUSABLE = ("elementwise", "norm", "reduce", "copy", "quant", "topk")
GEMM = KINDS.index("gemm")
LONGEST = 8  # ops of a chain
SMALL_NS = 20_000  # an op that is no GEMM and takes longer is not small
FEWEST = 2  # layers in which a chain must come
MOST_STEPS = 0.5
COPIES = "[CUDA mem"
HERE = "[CUDA memcpy Device-to-Device]"  # the only copy that a kernel of the same card could take over

Key = tuple[int, int, tuple[str, ...]]  # phase, card, names


@dataclass(frozen=True)
class Chain:
    """The places of one chain, in order of time; `at` are positions in the graph."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    roles: tuple[int, ...]
    phase: int
    device: int
    at: list[tuple[int, ...]]
    layers: list[int]  # of the first ops, ascending, each once; empty where the trace has no layers
    critical_share: float  # share of steps in which all of its ops are critical, mean over places

    @property
    def saved_ops(self) -> int:
        """Ops a step that are gone when each place is one op."""
        return len(self.at) * (len(self.names) - 1)


def repeating_chains(graph: StepGraph, found: Slack, most: int = 10) -> list[Chain]:
    """At most `most` chains that do not overlap, those that leave most ops out first."""
    places = _critical(_places(graph), found)
    free = np.ones(len(graph), bool)
    chosen: list[Chain] = []
    while len(chosen) < most and (best := _best(graph, places, free)) is not None:
        key, at = best
        for place in at:
            free[list(place)] = False
        chosen.append(_chain(graph, found, key, at))
        del places[key]
    return chosen


def _places(graph: StepGraph) -> dict[Key, list[tuple[int, ...]]]:
    """Every stretch of every run of ops, by phase, card and names."""
    found: dict[Key, list[tuple[int, ...]]] = defaultdict(list)
    for run in _runs(graph):
        for first in range(len(run)):
            for place in _from(graph, run[first : first + LONGEST]):
                names = tuple(graph.nodes.name[i] for i in place)
                found[int(graph.nodes.phase[place[0]]), int(graph.nodes.device[place[0]]), names].append(place)
    return found


def _runs(graph: StepGraph) -> Iterator[list[int]]:
    """Ops of one card, each the only one after the one before and waiting for no other op."""
    edges, host = graph.edges, graph.nodes.host
    exits = np.bincount(edges.source, minlength=len(graph))
    between = ~host[edges.source] & ~host[edges.target]
    entries = np.bincount(edges.target[between], minlength=len(graph))
    fits = _fits(graph)
    link = between & (exits[edges.source] == 1) & (entries[edges.target] == 1)
    link &= fits[edges.source] & fits[edges.target]
    link &= graph.nodes.device[edges.source] == graph.nodes.device[edges.target]
    after = dict(zip(edges.source[link].tolist(), edges.target[link].tolist(), strict=True))
    for node in sorted(after.keys() - set(after.values())):
        run = [node]
        while run[-1] in after:
            run.append(after[run[-1]])
        yield run


def _fits(graph: StepGraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Ops that could be part of a fused op."""
    nodes = graph.nodes
    small = np.median(graph.duration, axis=1) <= SMALL_NS
    fusable = np.isin(nodes.kind, [KINDS.index(kind) for kind in FUSABLE]) & small
    engine = np.array([name.startswith(COPIES) and name != HERE for name in nodes.name], dtype=bool)
    return (fusable | (nodes.kind == GEMM)) & ~engine & ~nodes.host & ~nodes.wait


def _from(graph: StepGraph, run: list[int]) -> Iterator[tuple[int, ...]]:
    """Chains that begin with the first op of a run: with one GEMM at most, and that at an end."""
    gemm = (graph.nodes.kind[run] == GEMM).tolist()
    for length in range(2, len(run) + 1):
        if any(gemm[1 : length - 1]) or (gemm[0] and gemm[length - 1]):
            return
        yield tuple(run[:length])


def _critical(places: dict[Key, list[tuple[int, ...]]], found: Slack) -> dict[Key, list[tuple[int, ...]]]:
    """Those that are critical in most steps at most of their places."""
    share = found.critical_share
    return {
        key: at
        for key, at in places.items()
        if len(at) >= FEWEST and np.median([share[list(place)].min() for place in at]) > MOST_STEPS
    }


def _best(
    graph: StepGraph, places: dict[Key, list[tuple[int, ...]]], free: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Key, list[tuple[int, ...]]] | None:
    """The chain that leaves most ops out at places where all of its ops are free; the longer of two alike."""
    best: tuple[tuple[int, int], Key, list[tuple[int, ...]]] | None = None
    for key, all_places in places.items():
        at = _apart(all_places, free)
        rank = (len(at) * (len(key[2]) - 1), len(key[2]))
        if (best is None or rank > best[0]) and _repeats(graph, at):
            best = rank, key, at
    return None if best is None else best[1:]


def _apart(places: list[tuple[int, ...]], free: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, ...]]:
    """Free places that do not overlap, the earlier first."""
    taken: set[int] = set()
    kept: list[tuple[int, ...]] = []
    for place in places:
        if taken.isdisjoint(place) and free[list(place)].all():
            taken.update(place)
            kept.append(place)
    return kept


def _repeats(graph: StepGraph, at: list[tuple[int, ...]]) -> bool:
    """In two layers or more; where the trace knows no layers, at two places or more."""
    known = (graph.nodes.layer != UNKNOWN).any()
    return len(_layers(graph, at) if known else at) >= FEWEST


def _layers(graph: StepGraph, at: list[tuple[int, ...]]) -> list[int]:
    layers = {int(graph.nodes.layer[place[0]]) for place in at}
    return sorted(layers - {UNKNOWN})


def _chain(graph: StepGraph, found: Slack, key: Key, at: list[tuple[int, ...]]) -> Chain:
    first = list(at[0])
    return Chain(
        names=key[2],
        kinds=tuple(KINDS[kind] for kind in graph.nodes.kind[first].tolist()),
        roles=tuple(graph.nodes.role[first].tolist()),
        phase=key[0],
        device=key[1],
        at=sorted(at),
        layers=_layers(graph, at),
        critical_share=float(np.mean([(found.ns[list(place)] == 0).all(axis=0).mean() for place in at])),
    )
