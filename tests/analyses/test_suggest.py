from __future__ import annotations

import pytest

from stepprof.analyses.assumptions import Assumptions
from stepprof.analyses.node_cost import Interval, NodeCost
from stepprof.analyses.suggest import Suggested, suggest
from stepprof.analyses.whatif import Settings
from tests.analyses.test_repeating_chains import layers

COST = NodeCost(Interval(800, 600, 1000), Interval(300, 300, 300), Interval(500, 300, 700), "quoted", "by hand")


def suggested(kinds: list[str], most: int = 10) -> Suggested:
    return suggest(layers(kinds), Settings(Assumptions(COST)), most)


def test_a_chain_of_three_saves_two_node_costs_in_each_layer():
    (row,) = suggested(["attention", "norm", "elementwise", "quant"]).rows
    delta = row.answer.alone.delta_ms
    assert (delta.value, delta.low, delta.high) == pytest.approx((-4 * 0.8e-3, -4 * 1.0e-3, -4 * 0.6e-3))
    assert row.answer.ops == 6


def test_rows_come_by_predicted_saving_with_names_of_their_own():
    kinds = ["attention", "norm", "quant", "attention", "topk", "copy", "reduce", "attention", "elementwise", "quant"]
    found = suggested(kinds)
    savings = [-(row.answer.alone.delta_ms.value or 0) for row in found.rows]
    assert savings == sorted(savings, reverse=True) and len(savings) == 3
    assert len({row.proposal.name for row in found.rows}) == 3


def test_nothing_repeats_nothing_is_suggested():
    found = suggested(["attention", "gemm"])
    assert (found.rows, found.whatif) == ([], None)
