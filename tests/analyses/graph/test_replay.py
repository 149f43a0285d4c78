"""Replay: exact ends of small graphs, all steps at once, and the longest path by brute force."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepprof.analyses.graph.replay import gpu_span_of, held_out_error, replay, wall_of
from stepprof.analyses.graph.step_graph import Edges, Nodes, StepGraph
from stepprof.profiler.errors import UsageError
from tests.step_graphs import ends, hand, with_durations

CHAIN = hand({"a": [10, 20], "b": [5, 6], "c": [1, 1]}, [("a", "b", 2), ("b", "c", 3)])
# a, then b and the side branch s, joined by j
FORK = hand({"a": [10], "b": [30], "s": [8], "j": [5]}, [("a", "b", 1), ("a", "s", 1), ("b", "j", 1), ("s", "j", 1)])
# main a b j; a call x y on card 1 with signals of 4 there and 6 back
SIDECAR = hand(
    {"a": [10], "x": [7], "b": [20], "y": [30], "j": [5]},
    [("a", "b", 1), ("a", "x", 4), ("x", "y", 1), ("b", "j", 1), ("y", "j", 6)],
    device=[0, 1, 0, 1, 0],
)


def test_a_chain_in_two_steps():
    # 10 + 2 + 5 + 3 + 1; 20 + 2 + 6 + 3 + 1
    assert ends(CHAIN) == {"a": [10, 20], "b": [17, 28], "c": [21, 32]}
    assert wall_of(replay(CHAIN)).tolist() == CHAIN.wall.tolist() == [21, 32]


def test_a_fork_joins_when_its_longer_branch_ends():
    # b: 10 + 1 + 30 = 41; s: 10 + 1 + 8 = 19; j: 41 + 1 + 5
    assert ends(FORK) == {"a": [10], "b": [41], "s": [19], "j": [47]}


def test_a_shorter_hidden_branch_saves_nothing():
    assert ends(with_durations(FORK, s=[0]))["j"] == [47]


def test_a_saving_moves_the_path_to_the_other_branch():
    # b shortened by 30 to 0: s ends at 19, j at 25; 47 - 25 = 22 saved, not 30
    assert ends(with_durations(FORK, b=[0]))["j"] == [25]


def test_a_late_sidecar_holds_main_back_until_it_is_faster():
    # y: 10 + 4 + 7 + 1 + 30 = 52, back 6: j 58 to 63; b had ended at 31
    assert ends(SIDECAR)["j"] == [63]
    # y of 10: 32 + 6 = 38 is still later than 31 + 1; y of 0 and x of 0: 15 + 6 = 21, so main's 32 holds
    assert ends(with_durations(SIDECAR, y=[10]))["j"] == [43]
    assert ends(with_durations(SIDECAR, x=[0], y=[0]))["j"] == [37]


def test_a_programmatic_edge_overlaps_but_not_beyond_its_sources_start():
    graph = hand({"a": [10], "b": [8]}, [("a", "b", -3)])
    assert ends(graph) == {"a": [10], "b": [15]}
    # a of 2: b starts with a, at 0, not at 2 - 3
    assert ends(with_durations(graph, a=[2]))["b"] == [8]


def test_edges_can_be_left_out_and_latencies_given():
    without = np.array([False, False, True, False])
    assert ends(FORK, replay(FORK, without=without))["j"] == [25]
    assert ends(CHAIN, replay(CHAIN, latency=np.array([0, 0])))["c"] == [16, 27]


def test_a_head_keeps_its_recorded_start_and_an_orphan_starts_with_the_step():
    graph = hand({"a": [10], "b": [5]}, [("a", "b", 1)])
    moved = dataclasses.replace(graph, start=graph.start + 7)
    assert ends(moved) == {"a": [17], "b": [23]}
    assert ends(moved, replay(moved, without=np.array([True]))) == {"a": [17], "b": [5]}


def test_calls_before_the_window_keep_their_negative_times():
    graph = hand({"call 0": [2], "call 1": [3], "a": [9]}, [("call 0", "call 1", 0), ("call 1", "a", 70)])
    before = dataclasses.replace(graph, start=graph.start - 50)
    # -50, -48, -45, then a from 25 on
    assert ends(before) == {"call 0": [-48], "call 1": [-45], "a": [34]}


def test_added_edges_may_run_backwards_but_not_in_a_circle():
    back = dataclasses.replace(FORK, edges=FORK.edges.plus(Edges.of([(2, 1)], latency=1)))
    assert ends(back)["b"] == [50]
    assert ends(dataclasses.replace(FORK, edges=FORK.edges.take(np.array([0, 1])).plus(Edges.of([(3, 1)]))))["b"] == [
        41
    ]
    circle = dataclasses.replace(FORK, edges=FORK.edges.plus(Edges.of([(3, 0)])))
    with pytest.raises(UsageError, match="wait for itself"):
        replay(circle)


def test_the_span_runs_from_the_first_op_and_the_wall_from_the_window():
    graph = hand(
        {"call": [5], "a": [10], "b": [5], "end": [3]},
        [("call", "a", 20), ("a", "b", 1), ("b", "end", 2)],
        host=[True, False, False, True],
    )
    # call 5, a 25 to 35, b 36 to 41, end 43 to 46
    assert gpu_span_of(graph, replay(graph)).tolist() == graph.gpu_span.tolist() == [16]
    assert graph.wall.tolist() == [46]


def test_like_steps_replay_without_error():
    graph = hand({"a": [10, 11, 12, 13], "b": [5, 7, 9, 4]}, [("a", "b", 2)])
    found = held_out_error(graph)
    assert (found.steps, found.span_max, found.wall_max, found.span_bias) == (4, 0, 0, 0)


def test_the_error_is_that_of_steps_that_were_not_fitted_on():
    graph = hand({"a": [100, 100, 100, 100], "b": [100, 100, 100, 100]}, [("a", "b", 0)])
    start = graph.start.copy()
    start[1] += np.array([0, 50, 0, 50])  # latency 0 in even steps, 50 in odd ones
    graph = dataclasses.replace(graph, start=start, wall=graph.wall + np.array([0, 50, 0, 50]))
    found = held_out_error(graph)
    # even steps as 250 of 200, odd ones as 200 of 250
    assert (found.wall_max, found.wall_median) == pytest.approx((0.25, (0.25 + 0.2) / 2))
    assert found.span_max == pytest.approx(0.25)


@st.composite
def graphs(draw):
    count, steps = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    rows = [pair for pair in pairs if draw(st.booleans())]
    latency = [draw(st.integers(-5, 9)) for _ in rows]
    duration = draw(
        st.lists(st.lists(st.integers(0, 20), min_size=steps, max_size=steps), min_size=count, max_size=count)
    )
    return rows, latency, np.array(duration, dtype=np.int64)


@given(graphs())
@settings(deadline=None, max_examples=150)
def test_the_replay_is_the_longest_path(made):
    rows, latency, duration = made
    count, steps = duration.shape
    heads = ~np.isin(np.arange(count), [b for _, b in rows])
    zero = np.zeros_like(duration)
    graph = StepGraph(
        Nodes.of([str(i) for i in range(count)]), zero, duration, Edges.of(rows, latency=latency), heads, zero[0]
    )
    into = {b: [(a, late) for (a, t), late in zip(rows, latency, strict=True) if t == b] for b in range(count)}

    def longest(node: int, step: int) -> int:
        """By walking every path into the node."""
        hop = [longest(a, step) + max(late, -int(duration[a, step])) for a, late in into[node]]
        return max([0, *hop]) + int(duration[node, step])

    assert replay(graph).tolist() == [[longest(i, k) for k in range(steps)] for i in range(count)]
    # the same graph with its nodes in reverse, so that every edge runs backwards
    turned = dataclasses.replace(
        graph,
        duration=duration[::-1].copy(),
        edges=Edges.of([(count - 1 - a, count - 1 - b) for a, b in rows], latency=latency),
        heads=heads[::-1],
    )
    assert replay(turned)[::-1].tolist() == replay(graph).tolist()
