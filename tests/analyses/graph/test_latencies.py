"""Latencies fitted from recorded times."""

import dataclasses

import numpy as np

from stepprof.analyses.graph.latencies import fitted, in_graph_gap, kinds_of, slacks
from stepprof.analyses.graph.step_graph import Edges
from tests.step_graphs import hand


def test_the_mean_of_the_steps_without_their_extremes():
    graph = hand({"a": [10] * 10, "b": [5] * 10}, [("a", "b", 0)])
    late = np.array([2, 2, 2, 2, 3, 3, 4, 4, 0, 900])
    graph = dataclasses.replace(graph, start=graph.start + np.stack([0 * late, late]))
    assert slacks(graph).tolist() == [late.tolist()]
    # without 0 and 900: 22 / 8 = 2.75, to whole ns
    assert fitted(graph).tolist() == [3]
    assert fitted(graph, np.arange(10) < 4).tolist() == [2]


def test_at_a_join_each_edge_is_fitted_where_it_binds():
    names = {"a": [10] * 4, "b": [30, 50, 30, 50], "s": [40] * 4, "j": [5] * 4}
    graph = hand(names, [("a", "b", 1), ("a", "s", 1), ("b", "j", 2), ("s", "j", 6)], device=[0, 0, 1, 0])
    # b binds in steps 1 and 3 (61 + 2 > 51 + 6), s in the others (51 + 6 > 41 + 2)
    assert fitted(graph).tolist() == [1, 1, 2, 6]


def test_an_edge_that_never_binds_is_as_its_class_but_never_more_than_was_seen():
    names = {"a": [10] * 2, "b": [30] * 2, "s": [3] * 2, "t": [29] * 2, "j": [5] * 2}
    rows = [("a", "b", 4), ("a", "s", 4), ("a", "t", 4), ("b", "j", 4), ("s", "j", 0), ("t", "j", 0)]
    # s ended 31 before j started, t 5 before, so both may have 4; one that ended 2 before could have 2 only
    assert fitted(hand(names, rows)).tolist() == [4] * 6
    closer = hand(names | {"t": [32] * 2}, rows)
    assert fitted(closer).tolist() == [4, 4, 4, 4, 4, 2]


def test_overlap_gives_a_negative_latency():
    assert fitted(hand({"a": [10, 12], "b": [5, 5]}, [("a", "b", -3)])).tolist() == [-3]


def test_the_gap_is_that_between_nodes_of_one_launch_on_one_card():
    rows = [("a", "b", 400), ("b", "c", 440), ("c", "x", 9000), ("x", "e", 2800)]
    graph = hand({n: [10] for n in "abcxe"}, rows, device=[0, 0, 0, 1, 1], launch=[0, 0, 0, 0, 1])
    assert in_graph_gap(graph) == 420
    assert in_graph_gap(dataclasses.replace(graph, edges=Edges.of([]))) is None
    assert kinds_of(graph.edges) == {"full": 4}
