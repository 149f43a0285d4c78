"""Slack of nodes and how often they are critical."""

import numpy as np
from hypothesis import given, settings

from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.slack import slack
from stepprof.analyses.graph.step_graph import Edges, Nodes, StepGraph
from tests.analyses.graph.test_replay import graphs
from tests.step_graphs import hand


def test_a_hidden_branch_has_the_others_length_as_slack():
    graph = hand(
        {"a": [10, 10], "b": [30, 6], "s": [8, 8], "j": [5, 5]},
        [("a", "b", 1), ("a", "s", 1), ("b", "j", 1), ("s", "j", 1)],
    )
    found = slack(graph)
    # step 0: s could end 22 later; step 1: b could end 2 later
    assert found.ns.tolist() == [[0, 0], [0, 2], [22, 0], [0, 0]]
    assert found.critical_share.tolist() == [1, 0.5, 0.5, 1]


def test_overlap_counts_from_where_it_holds_back():
    # b starts 3 before a ends, 10 - 3 + 8 = 15; c is done at 10 + 1 + 2 = 13
    graph = hand({"a": [10], "b": [8], "c": [2]}, [("a", "b", -3), ("a", "c", 1)])
    assert slack(graph).ns.tolist() == [[0], [0], [2]]


@given(graphs())
@settings(deadline=None, max_examples=60)
def test_a_node_longer_by_its_slack_delays_nothing_and_by_one_more_does(made):
    rows, latency, duration = made
    latency = [max(late, 0) for late in latency]  # a longer node may shift what overlaps with it
    heads = ~np.isin(np.arange(len(duration)), [b for _, b in rows])
    zero = np.zeros_like(duration)
    nodes = Nodes.of([str(i) for i in range(len(duration))])
    graph = StepGraph(nodes, zero, duration, Edges.of(rows, latency=latency), heads, zero[0])
    left, wall = slack(graph).ns, wall_of(replay(graph))
    for node in range(len(duration)):
        for more, delayed in ((0, False), (1, True)):
            longer = duration.copy()
            longer[node] += left[node] + more
            assert ((wall_of(replay(graph, duration=longer)) > wall) == delayed).all()
