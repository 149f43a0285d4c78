"""Chains that repeat layer by layer: what is one, what ends one, and which are taken."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.graph.slack import slack
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.vocabulary import KINDS
from stepprof.analyses.whatif.repeating_chains import Chain, repeating_chains
from tests.real_runs import attributed, run_of
from tests.step_graphs import Row, hand


def layers(kinds: list[str], count: int = 2, extra: list[Row] | None = None, long: str = "") -> StepGraph:
    """`count` layers one after the other, each with ops of these kinds, named by kind; all 1 µs but those of `long`."""
    names = [f"{kind}.{i}@{layer}" for layer in range(count) for i, kind in enumerate(kinds)]
    rows: list[Row] = [(a, b, 300) for a, b in itertools.pairwise(names)] + (extra or [])
    made = hand(
        {name: [50_000 if long and name.startswith(long) else 1_000] * 3 for name in names},
        rows,
        kind=[KINDS.index(name.split(".")[0]) for name in names],
        layer=[int(name.split("@")[1]) for name in names],
    )
    nodes = dataclasses.replace(made.nodes, name=[name.split("@")[0] for name in names])
    return dataclasses.replace(made, nodes=nodes)


def chains(graph: StepGraph, most: int = 10) -> list[Chain]:
    return repeating_chains(graph, slack(graph), most)


def test_a_chain_that_comes_in_two_layers_is_found_once_and_whole():
    (chain,) = chains(layers(["attention", "norm", "elementwise", "quant"]))
    assert chain.names == ("norm.1", "elementwise.2", "quant.3")
    assert (chain.at, chain.layers, chain.saved_ops) == ([(1, 2, 3), (5, 6, 7)], [0, 1], 4)
    assert chain.kinds == ("norm", "elementwise", "quant")
    assert chain.critical_share == 1.0


def test_a_chain_of_one_layer_is_none():
    assert chains(layers(["attention", "norm", "quant"], count=1)) == []


def test_where_no_layer_is_known_two_places_are_enough():
    made = layers(["attention", "norm", "quant"])
    nameless = dataclasses.replace(made, nodes=dataclasses.replace(made.nodes, layer=np.full(6, -1)))
    (chain,) = chains(nameless)
    assert (chain.names, chain.layers, len(chain.at)) == (("norm.1", "quant.2"), [], 2)


def test_a_gemm_is_an_end_and_there_is_one_at_most():
    (chain,) = chains(layers(["attention", "norm", "gemm", "quant"]))
    assert chain.names == ("norm.1", "gemm.2")
    assert chains(layers(["attention", "gemm", "gemm"])) == []


def test_an_op_that_something_else_waits_for_ends_a_chain():
    graph = layers(["attention", "norm", "quant", "attention"], extra=[("norm.1@0", "attention.3@0", 0)])
    assert chains(graph) == []  # the chain is left in layer 1 only
    entered = layers(["attention", "norm", "quant", "attention"], extra=[("attention.0@0", "quant.2@0", 0)])
    assert chains(entered) == []


def test_an_op_that_takes_long_is_not_small():
    assert chains(layers(["attention", "norm", "quant"], long="norm")) == []


def test_a_copy_that_a_copy_engine_makes_between_cards_is_no_part():
    graph = layers(["attention", "copy", "quant"])
    names = ["[CUDA memcpy Peer-to-Peer]" if name == "copy.1" else name for name in graph.nodes.name]
    assert chains(dataclasses.replace(graph, nodes=dataclasses.replace(graph.nodes, name=names))) == []


def test_chains_off_the_path_are_left_out():
    graph = hand(
        {"a": [1_000], "n0": [500], "q0": [500], "big": [90_000], "n1": [500], "q1": [500], "end": [1_000]},
        [
            ("a", "n0", 0),
            ("n0", "q0", 0),
            ("q0", "end", 0),
            ("a", "big", 0),
            ("big", "end", 0),
            ("a", "n1", 0),
            ("n1", "q1", 0),
            ("q1", "end", 0),
        ],
        kind=[KINDS.index(k) for k in ("attention", "norm", "quant", "attention", "norm", "quant", "attention")],
        layer=[0, 0, 0, 0, 1, 1, 1],
    )
    same = [name[0] if name[0] in "nq" else name for name in graph.nodes.name]
    assert chains(dataclasses.replace(graph, nodes=dataclasses.replace(graph.nodes, name=same))) == []


def test_no_more_rows_than_asked_for_and_the_largest_first():
    graph = layers(["attention", "norm", "quant", "reduce", "attention", "topk", "copy"])
    assert [chain.saved_ops for chain in chains(graph)] == [4, 2]
    assert [chain.names[0] for chain in chains(graph, most=1)] == ["norm.1"]


def test_the_front_of_the_mixture_is_found_in_a_real_capture():
    name = "mini_h200x2.sqlite"
    graph = build_graph(attributed(name), run_of(name))
    found = {chain.names[1:]: chain for chain in chains(graph)}
    front = found["router_topk_kernel", "cold_rows_copy_kernel"]  # what --fuse moe_front makes one kernel of
    assert (front.layers, front.saved_ops) == (list(range(10)), 20)
    taken = [node for chain in found.values() for place in chain.at for node in place]
    assert len(taken) == len(set(taken))
