"""benchmarks/nodes_traced.py: gaps of a made-up trace, merged into a made-up document."""

import importlib
from typing import Any

import pytest

from tests.trace_builder import TraceBuilder


@pytest.fixture
def traced() -> Any:
    return importlib.import_module("nodes_traced")


def test_gaps_of_a_step_without_hold_and_root(traced):
    """A hold, the root, three nodes 100 and 300 ns apart; the second step overlaps by 50."""
    t = TraceBuilder().range("step/0", 0, 10_000)
    t.kernel("hold", 50, 900, call=(10, 20))
    g = t.graph_launch(call=(30, 40))
    for node, (start, end) in enumerate([(1000, 1100), (1700, 2000), (2100, 2500), (2800, 3000)]):
        g.kernel("empty_node", start, end, node=node)
    t.range("step/1", 20_000, 30_000)
    g = t.graph_launch(call=(20_010, 20_020))
    for node, (start, end) in enumerate([(21_000, 21_100), (21_200, 21_300), (21_250, 21_400)]):
        g.kernel("empty_node(float *, int)", start, end, node=node)
    assert traced.step_gaps(t.store()) == {"step/0": 0.2, "step/1": -0.05}


def test_a_chain_that_ran_twice_in_a_step_does_not_move_the_gap(traced):
    """Forty gaps of 400 ns and one of 1 ms."""
    t = TraceBuilder().range("step/0", 0, 10_000_000)
    starts = [1000 * n + (1_000_000 if n > 21 else 0) for n in range(1, 43)]
    for n, start in enumerate(starts):
        t.kernel("small_node", start, start + 600, call=(n, n + 1))
    assert traced.step_gaps(t.store()) == {"step/0": pytest.approx(0.4)}


def test_only_rows_of_one_branch_take_the_traced_gap(traced):
    cost = {"value": 0.8, "low": 0.7, "high": 0.9, "kind": "measured"}
    stamped = {"value": 0.75, "low": 0.7, "high": 0.8, "kind": "measured"}
    rows = [
        {
            "kernel": "empty",
            "mode": "graph",
            "branches": n,
            "node_cost_us": cost,
            "visible_gap_us": stamped,
            "ramp_us": 0,
        }
        for n in (1, 4)
    ]
    document = {"rows": rows, "definitions": {"node_cost_us": "wall", "visible_gap_us": "stamps"}}
    parts = [{"name": "empty graph", "first": 5, "steps": 3}]
    found = traced.merged(document, parts, {"step/4": 9.0, "step/5": 0.3, "step/6": 0.3, "step/7": 0.3})
    one, four = found["rows"]
    assert four == rows[1] and one["stamped_gap_us"] == stamped and one["node_cost_us"] == cost
    assert one["visible_gap_us"]["value"] == pytest.approx(0.3)
    assert one["ramp_us"] == pytest.approx({"value": 0.5, "low": 0.4, "high": 0.6, "kind": "measured"})
    assert "trace" in found["definitions"]["visible_gap_us"]
