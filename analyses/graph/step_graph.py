"""The dependency graph of a step that repeats: one template of nodes and edges, times of every step.

A node is an op or the host time before a call (graph/critical_path.py builds them from a run).
Nodes are in order of their median start, so an edge goes from a lower to a higher position.
Arrays over times are [nodes, steps], int64 ns from the start of each step's window.

    graph.nodes.name[5], graph.duration[5]            # one node, its durations in all steps
    dataclasses.replace(graph, duration=shorter)      # an edited graph; graph/replay.py replays it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints

Times = np.ndarray[tuple[int, int], np.dtype[np.int64]]  # [nodes, steps], ns

# how an edge is known: a graph edge (full or programmatic), stream order, an event, the call that
# launches, the order of a thread's calls, a call that waits for the GPU, a guess from many replays, an edit
EDGE_KINDS = ("full", "programmatic", "stream", "event", "launch", "host", "sync", "inferred", "added")
FULL, PROGRAMMATIC, STREAM, EVENT, LAUNCH, HOST, SYNC, INFERRED, ADDED = range(len(EDGE_KINDS))
SURE = 1.0


@dataclass(frozen=True)
class Nodes:
    """One entry a node. Codes index into the vocabulary's tuples; UNKNOWN (-1) where there is none."""

    name: list[str]
    label: list[tuple[str, ...]]  # range path, outermost first
    host: Bools  # host time before a call, not an op
    role: Ints
    kind: Ints
    layer: Ints
    phase: Ints
    device: Ints
    stream: Ints  # small id, as in Ops
    launch: Ints  # number of its launch in the step, in order of call
    graph: Bools  # part of a CUDA graph
    wait: Bools  # a spin-wait: its end follows a signal, its duration here is the shortest one seen

    def __len__(self) -> int:
        return len(self.name)

    @classmethod
    def of(cls, name: Sequence[str], **columns: Any) -> Nodes:
        """Nodes of these names; columns that are not given are unknown or false."""
        made: dict[str, Any] = {"label": [()] * len(name)}
        made |= {key: np.full(len(name), UNKNOWN, dtype=np.int64) for key in CODES}
        made |= {key: np.zeros(len(name), bool) for key in FLAGS}
        made |= {key: value if key == "label" else np.asarray(value) for key, value in columns.items()}
        return cls(name=list(name), **made)

    def take(self, at: Ints) -> Nodes:
        """These nodes, in this order."""
        lists = {key: [getattr(self, key)[i] for i in at.tolist()] for key in ("name", "label")}
        return Nodes(**lists, **{key: getattr(self, key)[at] for key in (*CODES, *FLAGS)})

    def plus(self, other: Nodes) -> Nodes:
        """Both sets, one behind the other."""
        columns = {key: np.concatenate([getattr(self, key), getattr(other, key)]) for key in (*CODES, *FLAGS)}
        return Nodes(name=self.name + other.name, label=self.label + other.label, **columns)


CODES = ("role", "kind", "layer", "phase", "device", "stream", "launch")
FLAGS = ("host", "graph", "wait")


@dataclass(frozen=True)
class Edges:
    """One entry an edge: its target starts `latency` ns after its source has ended, or later.

    A negative latency is an overlap (PDL): the target then starts no earlier than its source starts.
    """

    source: Ints  # positions
    target: Ints
    kind: Ints  # index into EDGE_KINDS
    confidence: np.ndarray[tuple[int], np.dtype[np.float64]]  # 1 recorded or ordered, less for a guess
    latency: Ints  # ns

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int]], kind: Any = FULL, latency: Any = 0, confidence: Any = SURE) -> Edges:
        """Edges (source, target); the rest is one value for all, or one an edge."""
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
        ints = [np.broadcast_to(np.asarray(v, dtype=np.int64), len(pairs)).copy() for v in (kind, latency)]
        sure = np.broadcast_to(np.asarray(confidence, dtype=np.float64), len(pairs)).copy()
        return cls(pairs[:, 0].copy(), pairs[:, 1].copy(), ints[0], sure, ints[1])

    def take(self, at: Ints | Bools) -> Edges:
        """These edges."""
        return Edges(**{f.name: getattr(self, f.name)[at] for f in fields(self)})

    def plus(self, other: Edges) -> Edges:
        """Both sets, one behind the other."""
        return Edges(**{f.name: np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)})


@dataclass(frozen=True)
class StepGraph:
    """A template and its times. `heads` start no earlier than recorded: what they follow is outside the step."""

    nodes: Nodes
    start: Times  # measured
    duration: Times  # measured; of host nodes the host's time
    edges: Edges
    heads: Bools
    wall: Ints  # [steps] length of each window, ns
    steps: list[int] = field(default_factory=list[int])  # indices into the run's steps
    left_out: int = 0  # chosen steps of another template
    source: str = ""  # name of the trace, for sentences
    gpu: str = ""  # product name of the card with most ops
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def end(self) -> Times:
        """Measured ends, [nodes, steps]."""
        return self.start + self.duration

    @property
    def gpu_span(self) -> Ints:
        """Measured first op start to last op end, [steps]."""
        return span_of(self.nodes, self.start, self.end)


def span_of(nodes: Nodes, start: Times, end: Times) -> Ints:
    """First op start to last op end of each step; 0 where the step has no op."""
    ops = ~nodes.host
    return end[ops].max(axis=0) - start[ops].min(axis=0) if ops.any() else np.zeros(start.shape[1], np.int64)
