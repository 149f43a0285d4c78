"""Speed of the replay: many edited graphs of a long run, against numpy running maxima over the same array.

    python benchmarks/replay.py                    # 1,300 ops, 1,000 steps, 20 proposals; one JSON document
    python benchmarks/replay.py --limit-s 5        # exit 3 where it takes longer

The graph is made: a chain with a side branch and a second card's call in every layer. Proposals remove, scale,
fuse, add and split; evaluate() replays each alone and in sequence over all steps, with its interval.
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

from stepprof.analyses.graph.node_cost import node_cost
from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.slack import slack
from stepprof.analyses.graph.step_graph import Edges, Nodes, StepGraph
from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.proposal_model import Add, Fuse, Given, Proposal, Remove, Scale, Select, Split

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
    wanted, settings = _wanted(given.proposals), Settings(Assumptions(node_cost(graph)))
    all_of_them = _seconds(given.repeats, lambda: evaluate(graph, wanted, settings))
    print(
        json.dumps(
            {
                **{key: getattr(given, key) for key in ("ops", "steps", "proposals", "repeats")},
                "edges": len(graph.edges),
                "running_maxima_s": round(yardstick, 5),
                "replay_s": round(one, 4),
                "replay_times_running_maxima": round(one / yardstick, 1),
                "slack_s": round(back, 4),
                "evaluate_s": round(all_of_them, 3),
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


def _wanted(count: int) -> list[Proposal]:
    """Removals, scalings, fusions, additions and splits in turn, each of the ops of two layers or of one role."""
    half = Given(0.5, 0.4, 0.6)
    made: list[Proposal] = []
    for n in range(count):
        role = Select(role=(ROLES[n % LAYER],))
        layers = Select(layer=(2 * n % 48, 2 * n % 48 + 1))
        edits = (
            Remove(role),
            Scale(role, factor=half),
            Fuse(layers),
            Add(role, us=Given(2.0, 2.0, 2.0)),
            Split(role, 2),
        )
        made.append(Proposal(f"proposal {n}", (edits[n % len(edits)],), optional=True))
    return made


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
    place = np.arange(count)
    columns = {"device": place * 0, "launch": place * 0, "layer": place // LAYER, "role": place % LAYER}
    nodes = Nodes.of([f"op {i}" for i in range(count)], graph=np.ones(count, bool), **columns)
    edges = Edges.of(rows, latency=400)
    heads = np.arange(count) == 0
    walls = np.zeros(steps, np.int64)
    graph = StepGraph(nodes, np.zeros_like(duration), duration, edges, heads, walls, list(range(steps)))
    end = replay(graph)
    return dataclasses.replace(graph, start=end - duration, wall=wall_of(end))


if __name__ == "__main__":
    main()
