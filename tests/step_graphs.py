"""Step graphs made by hand: names, durations of each step, edges with a latency.

graph = hand({"a": [10, 20], "b": [5, 5]}, [("a", "b", 2)])
ends(graph)["b"]        # [17, 27]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.step_graph import Edges, Nodes, StepGraph, Times

Row = tuple[str, str, int]  # source, target, latency


def hand(durations: Mapping[str, Sequence[int]], edges: Sequence[Row], **columns: Any) -> StepGraph:
    """A graph whose recorded times are its own replay; the first node starts at 0. Columns of Nodes go by name."""
    names = list(durations)
    columns = {"device": [0] * len(names), "launch": [0] * len(names), "graph": [True] * len(names)} | columns
    rows = [(names.index(a), names.index(b)) for a, b, _ in edges]
    duration = np.array(list(durations.values()), dtype=np.int64)
    made = StepGraph(
        nodes=Nodes.of(names, **columns),
        start=np.zeros_like(duration),
        duration=duration,
        edges=Edges.of(rows, latency=[late for _, _, late in edges]),
        heads=np.arange(len(names)) == 0,
        wall=np.zeros(duration.shape[1], np.int64),
        steps=list(range(duration.shape[1])),
    )
    end = replay(made)
    return dataclasses.replace(made, start=end - duration, wall=wall_of(end))


def ends(graph: StepGraph, end: Times | None = None) -> dict[str, list[int]]:
    """Replayed ends by name."""
    end = replay(graph) if end is None else end
    return {name: row.tolist() for name, row in zip(graph.nodes.name, end, strict=True)}


def with_durations(graph: StepGraph, **durations: Sequence[int]) -> StepGraph:
    """The same graph with other durations of some nodes."""
    duration = graph.duration.copy()
    for name, row in durations.items():
        duration[graph.nodes.name.index(name)] = row
    return dataclasses.replace(graph, duration=duration)
