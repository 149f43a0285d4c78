"""Traffic of ops, bandwidths of cards and the bounds that a source of doubt takes."""

from dataclasses import replace

import pytest

from stepprof.analyses.graph.step_graph import Nodes
from stepprof.analyses.whatif.assumptions import Traffic, quoted_bandwidth
from stepprof.analyses.whatif.proposal_model import Given
from stepprof.profiler.errors import UsageError
from tests.proposals import ASSUME


def test_traffic_goes_by_name_or_by_a_path_of_one_op():
    nodes = Nodes.of(["gemm", "norm", "copy", "copy"], label=[("a",), ("b", "c"), ("d",), ("d",)])
    costs = {"gemm": Traffic(10, 1), "b/c": Traffic(20, 2), "d": Traffic(30, 3)}
    read, written, known = replace(ASSUME, costs=costs).traffic(nodes)
    # two ops carry d: which of them moves what is not known
    assert (read.tolist(), written.tolist()) == ([10, 20, 0, 0], [1, 2, 0, 0])
    assert known.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("gpu", "peak"),
    [
        ("NVIDIA H200", 4800),
        ("NVIDIA H100 PCIe", 2000),
        ("NVIDIA H100 80GB HBM3", 3350),
        ("NVIDIA GB300", 8000),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 1792),
    ],
)
def test_bandwidths_of_gpus(gpu: str, peak: float):
    found = quoted_bandwidth(gpu)
    assert found is not None and found.kind == "quoted"
    assert (found.value, found.high) == (peak, peak) and found.low == pytest.approx(0.8 * peak, abs=1)


def test_what_the_file_says_stands_above_the_table():
    assume = replace(ASSUME, gpus={0: "NVIDIA H200", 1: "Voodoo"})
    assert assume.bandwidth(0, None) == 4800
    assert replace(assume, bandwidth_at="low").bandwidth(0, None) == 3840
    assert assume.bandwidth(0, Given(3000, 2000, 4000)) == 3000
    with pytest.raises(UsageError, match=r"card 1 .Voodoo. is not known: give bandwidth_gb_s"):
        assume.bandwidth(1, None)
    assert quoted_bandwidth("") is None


def test_bounds_of_the_node_cost():
    assert [replace(ASSUME, node_cost_at=at).node_ns for at in ("low", "value", "high")] == [4, 5, 8]
    assert replace(ASSUME, given_at="high").of(Given(1, 0, 2)) == 2
