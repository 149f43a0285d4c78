"""Node cost: from a bench file, else a default that says so."""

import dataclasses
import json

import pytest

from stepprof.analyses.graph.node_cost import Interval, node_cost
from stepprof.analyses.graph.step_graph import PROGRAMMATIC, Edges
from stepprof.profiler.errors import InputError
from tests.step_graphs import hand

CHAIN = dataclasses.replace(
    hand({"a": [10], "b": [5], "c": [1]}, [("a", "b", 400), ("b", "c", 500)]), gpu="NVIDIA H200"
)


def us(value, low, high):
    return {"value": value, "low": low, "high": high}


def row(mode="graph", branches=1, cost=(1.0, 0.5, 1.5), **more):
    figures = {"node_cost_us": us(*cost), "visible_gap_us": us(0.25, 0.25, 0.5), "ramp_us": us(0.75, 0.25, 1.0)}
    return {"kernel": "empty", "mode": mode, "branches": branches} | figures | more


@pytest.fixture
def bench(tmp_path):
    def write(rows, gpu="NVIDIA H200"):
        (tmp_path / "nodes.json").write_text(json.dumps({"gpu": gpu, "rows": rows}))
        return tmp_path / "nodes.json"

    return write


def test_the_bench_files_serial_graph_row_is_taken(bench):
    found = node_cost(CHAIN, bench([row("stream"), row("graph", branches=6, cost=(9, 9, 9)), row()]))
    assert (found.cost, found.gap) == (Interval(1000, 500, 1500), Interval(250, 250, 500))
    assert found.ramp == Interval(750, 250, 1000)
    assert (found.figure, found.basis) == ("measured", "nodes.json, 1 rows, mode graph")


def test_several_kernels_give_their_median_and_widest_interval(bench):
    found = node_cost(CHAIN, bench([row(), row(cost=(2.0, 1.8, 4.0)), row(cost=(1.25, 0.25, 1.5))]))
    assert found.cost == Interval(1250, 250, 4000)


def test_a_programmatic_graph_takes_programmatic_rows(bench):
    pdl = dataclasses.replace(CHAIN, edges=Edges.of([(0, 1), (1, 2)], kind=PROGRAMMATIC))
    rows = [row(), row("graph_pdl", cost=(0.5, 0.25, 0.75))]
    assert node_cost(pdl, bench(rows)).cost.value == 500
    assert node_cost(pdl, bench(rows[:1])).cost.value == 1000


def test_the_default_says_so_and_takes_the_gap_from_the_trace():
    found = node_cost(CHAIN)
    # gap 450, the median of 400 and 500; ramp is the rest of 0.84 (0.66 to 0.89)
    assert found.cost == Interval(840, 660, 890)
    assert (found.gap.value, found.ramp) == (450, Interval(390, 210, 440))
    assert found.figure == "quoted"
    assert found.basis.startswith("default for NVIDIA H200: measured, untraced graphs")


@pytest.mark.parametrize("gpu", ["NVIDIA GB300", "Another", ""])
def test_other_gpus_have_a_quoted_prior(gpu):
    found = node_cost(dataclasses.replace(CHAIN, gpu=gpu))
    assert (found.cost, found.figure) == (Interval(1000, 600, 2200), "quoted")


def test_without_graphs_the_whole_default_is_gap():
    eager = hand({"a": [10], "b": [5]}, [("a", "b", 400)], graph=[False, False])
    assert (node_cost(eager).gap.value, node_cost(eager).ramp.value) == (1000, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "is not a JSON document"),
        ("[]", "holds no rows"),
        ('{"rows": []}', "holds no row of mode graph"),
        ('{"rows": [{"mode": "graph"}]}', "a row lacks a figure"),
        (json.dumps({"rows": [row(cost=(1, 2, 3))]}), "a row lacks a figure"),
        (
            json.dumps({"gpu": "NVIDIA B200", "rows": [row()]}),
            "measured on NVIDIA B200, but the trace is of NVIDIA H200",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, text, said):
    path = tmp_path / "nodes.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=f"nodes.json: {said}"):
        node_cost(CHAIN, path)
