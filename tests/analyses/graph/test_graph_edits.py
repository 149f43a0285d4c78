"""Edits of the edges: nodes left out of chains, joins and calls; dependencies added."""

import numpy as np

from stepprof.analyses.graph.graph_edits import usual_latency, with_edges, without_nodes
from stepprof.analyses.graph.replay import replay
from stepprof.analyses.graph.step_graph import StepGraph
from tests.step_graphs import ends, hand


def less(graph: StepGraph, *names: str, **options: bool) -> StepGraph:
    return without_nodes(graph, np.isin(graph.nodes.name, names), **options)


def test_a_node_of_a_chain_goes_with_its_gap():
    graph = hand({"a": [10], "b": [5], "c": [1]}, [("a", "b", 2), ("b", "c", 3)])
    # 10 + 3 + 1: b's 5 and the 2 before it are saved
    assert ends(less(graph, "b")) == {"a": [10], "c": [14]}
    assert ends(less(graph, "b", "c")) == {"a": [10]}


def test_a_hidden_branch_left_out_saves_nothing():
    graph = hand(
        {"a": [10], "b": [30], "s": [8], "j": [5]}, [("a", "b", 1), ("a", "s", 1), ("b", "j", 1), ("s", "j", 1)]
    )
    assert ends(less(graph, "s"))["j"] == ends(graph)["j"] == [47]
    # without b: s ends at 19, j at 25
    assert ends(less(graph, "b"))["j"] == [25]


SIDECAR = hand(
    {"a": [10], "x": [7], "b": [20], "y": [30], "j": [5]},
    [("a", "b", 1), ("a", "x", 4), ("x", "y", 1), ("b", "j", 1), ("y", "j", 6)],
    device=[0, 1, 0, 1, 0],
)


def test_a_signal_stays_while_its_call_does():
    # without x: 10 + 4 + 30 + 6 + 5; without y: 10 + 4 + 7 + 6 = 27 < 32, so main holds: 37
    assert ends(less(SIDECAR, "x"))["j"] == [55]
    assert ends(less(SIDECAR, "y"))["j"] == [37]


def test_a_call_left_out_takes_its_signals_along():
    graph = hand(
        {"a": [10], "x": [7], "j": [5], "k": [2]}, [("a", "x", 4), ("x", "j", 6), ("j", "k", 1)], device=[0, 1, 0, 0]
    )
    # no more crossing: j follows a by the usual gap of the card, 1
    assert ends(less(graph, "x"))["j"] == [16]


def test_a_launch_call_goes_with_its_last_op():
    graph = hand(
        {"call 0": [3], "a": [10], "call 1": [4], "b": [5], "call 2": [1], "c": [6]},
        [("call 0", "a", 2), ("call 0", "call 1", 0), ("call 1", "b", 2), ("call 1", "call 2", 0), ("call 2", "c", 2)],
        host=[True, False] * 3,
        device=[-1, 0] * 3,
        launch=[0, 0, 1, 1, 2, 2],
    )
    # calls end at 3, 7, 8; without the second one c is called at 4 and ends at 12
    assert ends(graph)["c"] == [16]
    assert ends(less(graph, "b"))["c"] == [12]
    assert ends(less(graph, "b", with_calls=False))["c"] == [16]


def test_an_added_dependency_has_the_usual_latency():
    serial = with_edges(SIDECAR, [(2, 3)])  # y after b, from card 0 to card 1: median of 4 and 6
    assert usual_latency(SIDECAR, same_card=False) == 5
    assert ends(serial)["y"] == [31 + 5 + 30]
    assert replay(with_edges(SIDECAR, [(2, 3)], latency=0))[3].tolist() == [61]
