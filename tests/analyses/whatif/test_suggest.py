"""Suggested fusions: what the replay says each saves, by that order."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from stepprof.analyses.graph.node_cost import Interval, NodeCost
from stepprof.analyses.vocabulary import KINDS
from stepprof.analyses.whatif.answer import Settings
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.suggest import Suggested, suggest
from tests.analyses.whatif.test_repeating_chains import layers
from tests.step_graphs import hand

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


def test_a_place_that_is_hidden_adds_nothing_to_the_saving():
    """norm and quant on the path in layers 0 and 1, beside a longer op in layer 2."""
    graph = hand(
        {name: [1_000] * 3 for name in ("n0", "q0", "g0", "n1", "q1", "g1")}
        | {"long": [50_000] * 3, "n2": [1_000] * 3, "q2": [1_000] * 3, "end": [1_000] * 3},
        [(a, b, 300) for a, b in pairwise(("n0", "q0", "g0", "n1", "q1", "g1", "long", "end"))]
        + [("g1", "n2", 300), ("n2", "q2", 300), ("q2", "end", 300)],
        kind=[KINDS.index({"n": "norm", "q": "quant"}.get(name, "attention")) for name in "nqgnqgxnqx"],
        layer=[0, 0, 0, 1, 1, 1, 2, 2, 2, 2],
    )
    same = dataclasses.replace(graph.nodes, name=["n", "q", "g", "n", "q", "g", "long", "n", "q", "end"])
    (row,) = suggest(dataclasses.replace(graph, nodes=same), Settings(Assumptions(COST))).rows
    assert (len(row.chain.at), row.chain.saved_ops) == (3, 3)
    assert row.answer.alone.delta_ms.value == pytest.approx(-2 * 0.8e-3)
    assert row.chain.critical_share == pytest.approx(2 / 3)
