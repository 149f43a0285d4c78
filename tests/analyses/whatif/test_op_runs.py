"""Runs along dependencies, and chains by name."""

from itertools import pairwise

import numpy as np

from stepprof.analyses.whatif.op_runs import chains, runs
from tests.step_graphs import hand

# a, b, c in a row with s beside b; c goes on to d
GRAPH = hand(
    {"a": [1], "b": [5], "s": [1], "c": [1], "d": [1]},
    [("a", "b", 0), ("a", "s", 0), ("b", "c", 0), ("s", "c", 0), ("c", "d", 0)],
    layer=[0, 0, 0, 1, 1],
)


def of(*names: str) -> np.ndarray:
    return np.isin(GRAPH.nodes.name, names)


def test_a_run_goes_on_while_no_path_leaves_it():
    assert runs(GRAPH, of("a", "b")).tolist() == [0, 0, -1, -1, -1]
    # c waits for s, which comes out of the run
    assert runs(GRAPH, of("a", "b", "c", "d")).tolist() == [0, 0, -1, 1, 1]
    # with s in it, nothing leaves
    assert runs(GRAPH, of("a", "b", "s", "c", "d")).tolist() == [0, 0, 0, 0, 0]
    assert runs(GRAPH, of("a", "c", "d")).tolist() == [0, -1, -1, 1, 1]


def test_a_run_ends_with_the_layer_or_where_others_join():
    every = of("a", "b", "s", "c", "d")
    assert runs(GRAPH, every, within_layer=True).tolist() == [0, 0, 0, 1, 1]
    assert runs(GRAPH, every, simple=True).tolist() == [0, 1, 2, 3, 3]


def test_chains_do_not_share_ops():
    names = [f"{name}{i}" for i, name in enumerate("xyxyyz")]
    row = hand({name: [1] for name in names}, [(a, b, 0) for a, b in pairwise(names)])
    every = np.ones(6, bool)
    assert chains(row, every, ("x", "y")).tolist() == [0, 0, 1, 1, -1, -1]
    assert chains(row, every, ("y", "y", "z")).tolist() == [-1, -1, -1, 0, 0, 0]
    assert chains(row, every, ("x", "z")).tolist() == [-1] * 6
    assert chains(row, np.arange(6) > 1, ("x", "y")).tolist() == [-1, -1, 0, 0, -1, -1]
