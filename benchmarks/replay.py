"""Speed of the replay: many edited graphs of a long run, against numpy running maxima over the same array.

    python benchmarks/replay.py                    # 1,300 ops, 1,000 steps, 20 proposals; one JSON document
    python benchmarks/replay.py --limit-s 5        # exit 3 where it takes longer

The graph is made: a chain with a side branch and a second card's call in every layer. Each
proposal scales some nodes, leaves others out and is replayed over all steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stepprof.analyses.graph_edits import without_nodes
from stepprof.analyses.replay import replay, wall_of
from stepprof.analyses.slack import slack
from stepprof.analyses.step_graph import Edges, Nodes, StepGraph

LAYER = 26  # ops of a layer: 20 on the main chain, 3 beside it, 3 on the second card


def main() -> None:
    """Time the proposals and the yardstick, print one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    for name, default in (("ops", 1300), ("steps", 1000), ("proposals", 20), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--limit-s", type=float, default=None)
    given = parser.parse_args()
    graph = made_graph(given.ops, given.steps)
    yardstick = _seconds(given.repeats, lambda: np.maximum.accumulate(graph.duration, axis=0))
    one = _seconds(given.repeats, lambda: replay(graph))
    back = _seconds(given.repeats, lambda: slack(graph))
    all_of_them = _seconds(given.repeats, lambda: _proposals(graph, given.proposals))
    print(
        json.dumps(
            {
                **{key: getattr(given, key) for key in ("ops", "steps", "proposals", "repeats")},
                "edges": len(graph.edges),
                "running_maxima_s": round(yardstick, 5),
                "replay_s": round(one, 4),
                "replay_times_running_maxima": round(one / yardstick, 1),
                "slack_s": round(back, 4),
                "proposals_s": round(all_of_them, 3),
            }
        )
    )
    if given.limit_s is not None and all_of_them > given.limit_s:
        sys.exit(3)


def _seconds(repeats: int, work: Callable[[], object]) -> float:
    """Median time of some runs."""
    took: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def _proposals(graph: StepGraph, count: int) -> list[float]:
    """Median step of every proposal, ns: one node in `count` left out, another halved."""
    number = np.arange(len(graph)) % count
    walls: list[float] = []
    for k in range(count):
        edited = without_nodes(graph, number == k)
        halved = np.where((np.arange(len(edited)) % count == k)[:, None], edited.duration // 2, edited.duration)
        walls.append(float(np.median(wall_of(replay(dataclasses.replace(edited, duration=halved))))))
    return walls


def made_graph(ops: int, steps: int) -> StepGraph:
    """Layers of a chain with two branches that join again; durations of 1 to 9 µs."""
    rows: list[tuple[int, int]] = []
    for first in range(0, ops - LAYER + 1, LAYER):
        chain = [first + i for i in range(LAYER) if i % 8 < 6 or i >= 24]
        branches = [[first + i for i in range(LAYER) if i % 8 == 6 + k and i < 24] for k in (0, 1)]
        rows += [pair for part in (chain, *branches) for pair in pairwise(part)]
        rows += [(chain[0], branch[0]) for branch in branches] + [(branch[-1], chain[-1]) for branch in branches]
        rows += [(first - 1, first)] if first else []
    count = (ops // LAYER) * LAYER
    random = np.random.default_rng(7)
    duration = random.integers(1_000, 9_000, size=(count, steps))
    nodes = Nodes.of([f"op {i}" for i in range(count)], device=np.zeros(count, np.int64))
    edges = Edges.of(rows, latency=400)
    heads = np.arange(count) == 0
    graph = StepGraph(nodes, np.zeros_like(duration), duration, edges, heads, np.zeros(steps, np.int64))
    end = replay(graph)
    return dataclasses.replace(graph, start=end - duration, wall=wall_of(end))


if __name__ == "__main__":
    main()
