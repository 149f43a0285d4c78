"""Edges inferred from replays whose true edges are known, because the times were made from them. Times in us."""

from itertools import pairwise

import numpy as np
import pytest

from stepprof.analyses.graph.inferred_edges import GUESSED, ORDERED, SEEN, infer
from stepprof.analyses.graph.replay import replay
from stepprof.analyses.graph.step_graph import EDGE_KINDS
from tests.step_graphs import hand

REPLAYS = 12
RANDOM = np.random.default_rng(5)


def long(base: float, spread: float = 2) -> list[int]:
    """Durations of all replays, ns."""
    return (1000 * (base + spread * RANDOM.random(REPLAYS))).astype(int).tolist()


def inferred(durations, edges, device, stream):
    """Inferred edges by the names of their ends, of a graph with these true ones."""
    graph = hand(durations, [(a, b, round(1000 * late)) for a, b, late in edges], device=device)
    end = replay(graph)
    found = infer(end - graph.duration, end, np.array(device), np.array(stream), np.arange(len(durations)))
    name = graph.nodes.name
    rows = zip(found.source.tolist(), found.target.tolist(), found.kind.tolist(), found.confidence, strict=True)
    return {(name[a], name[b]): (EDGE_KINDS[kind], sure) for a, b, kind, sure in rows}


def chain(names, late=0.4):
    return [(a, b, late) for a, b in pairwise(names)]


def test_a_chain_on_one_stream():
    found = inferred({n: long(5) for n in "abcd"}, chain("abcd"), [0] * 4, [1] * 4)
    assert found == {pair: ("stream", ORDERED) for pair in ("ab", "bc", "cd") for pair in [tuple(pair)]}


@pytest.mark.parametrize("stream", [(1, 1, 2, 2, 1), (1, 1, 3, 3, 1)], ids=["streams", "other numbers"])
def test_a_call_on_a_second_card_with_its_signals(stream):
    """Main a b j, call x y that is always later: y to j is seen, a to x too."""
    durations = {"a": long(9), "b": long(20), "x": long(7), "y": long(40), "j": long(5)}
    edges = [("a", "b", 0.4), ("a", "x", 6), ("x", "y", 0.4), ("b", "j", 0.4), ("y", "j", 8)]
    found = inferred(durations, edges, [0, 0, 1, 1, 0], stream)
    assert found == {
        ("a", "b"): ("stream", ORDERED),
        ("b", "j"): ("stream", ORDERED),
        ("x", "y"): ("stream", ORDERED),
        ("a", "x"): ("inferred", SEEN),
        ("y", "j"): ("inferred", SEEN),
    }


def test_streams_that_overlap_tell_no_order_and_times_find_the_edges():
    """Both branches report one stream; each op follows its own branch all the same."""
    names = [f"{branch}{i}" for i in range(6) for branch in "ps"]
    durations = {"a": long(5), **{n: long(7, 6) for n in names}, "j": long(5)}
    edges = [*chain(["a", *names[::2], "j"]), *chain(["a", *names[1::2], "j"])]
    found = inferred(durations, edges, [0] * 14, [1] * 14)
    true = {(a, b) for a, b, _ in edges}
    assert len(set(found) & true) >= 13
    assert set(found) - true == set()


def test_a_join_that_binds_now_and_then_has_both_edges():
    durations = {"a": long(5), "b": long(10, 20), "s": long(10, 20), "j": long(5)}
    edges = [("a", "b", 0.4), ("a", "s", 0.4), ("b", "j", 0.4), ("s", "j", 0.4)]
    assert set(inferred(durations, edges, [0] * 4, [1, 1, 2, 1])) == {(a, b) for a, b, _ in edges}


def test_a_join_that_never_binds_is_a_guess():
    """s is always over long before j, which was made next after it."""
    durations = {"a": long(5), "b": long(40), "s": long(3), "j": long(5)}
    edges = [("a", "b", 0.4), ("a", "s", 0.4), ("b", "j", 0.4), ("s", "j", 0.4)]
    assert inferred(durations, edges, [0] * 4, [1, 1, 2, 1])["s", "j"] == ("inferred", GUESSED)


def test_one_op_has_no_edges():
    assert inferred({"a": long(5)}, [], [0], [1]) == {}


def test_only_wanted_ops_get_edges():
    start = np.array([[0], [10], [20]])
    found = infer(
        start, start + 9, np.zeros(3, int), np.ones(3, int), np.arange(3), wanted=np.array([False, False, True])
    )
    assert (found.source.tolist(), found.target.tolist()) == ([1], [2])
