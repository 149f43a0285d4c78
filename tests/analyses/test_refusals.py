"""What a trace cannot answer is refused in one sentence that names the file and the way out."""

import re

import pytest

from stepprof.analyses.refusals import refuse_unanswerable
from stepprof.profiler.errors import Refused
from tests.trace_builder import TraceBuilder

NODE_MODE = "re-capture with nsys profile -t cuda,nvtx --cuda-graph-trace=node"


def refusal(trace: TraceBuilder) -> str | None:
    """The sentence, None where the trace is taken."""
    try:
        refuse_unanswerable(trace.store())
    except Refused as fault:
        assert fault.exit_code == 4
        return str(fault)
    return None


def launches(trace: TraceBuilder, name: str, count: int, at: int = 100) -> TraceBuilder:
    """Calls that issued nothing."""
    for i in range(count):
        trace.api(name, at + i, at + i + 1, correlation=1000 + at + i)
    return trace


def replays(count: int) -> TraceBuilder:
    """Graph launches of one op each."""
    trace = TraceBuilder()
    for i in range(count):
        trace.graph_launch(call=(10 * i, 10 * i + 1)).kernel("a", 10 * i + 2, 10 * i + 5, node=1)
    return trace


def test_a_trace_without_gpu_activity():
    trace = TraceBuilder().range("step/0", 0, 100).api("cudaMalloc", 0, 1)
    assert refusal(trace) == (
        "built.duckdb: no GPU activity is on record (1 ranges and 1 API calls): "
        f"{NODE_MODE}, on the process that uses the GPU."
    )


def test_an_empty_trace():
    sentence = refusal(TraceBuilder())
    assert sentence and sentence.startswith("built.duckdb: no GPU activity is on record (0 ranges and 0 API calls)")


def test_launches_without_any_gpu_activity():
    assert refusal(launches(TraceBuilder(), "cudaLaunchKernel", 3)) == (
        "built.duckdb: 3 kernel launches but no GPU activity is on record (0 ranges and 3 API calls): "
        + NODE_MODE
        + "."
    )


def test_graphs_whose_kernels_are_hidden():
    """Eager kernels are on record, graph launches without any: an idle GPU is not the answer."""
    trace = launches(TraceBuilder().kernel("warm-up", 0, 5, call=(0, 1)), "cudaGraphLaunch", 4)
    assert refusal(trace) == (
        "built.duckdb: 4 of 4 graph launches carry no kernel records, so the kernels inside CUDA graphs are hidden: "
        + NODE_MODE
        + "."
    )


def test_graph_level_records_are_hidden_kernels_too():
    """GRAPH_TRACE rows stand for whole graphs; the import counts them."""
    sentence = refusal(replays(2).add("run", key="graph_trace_rows", value="2"))
    assert sentence and "2 of 2 graph launches carry no kernel records" in sentence and NODE_MODE in sentence


def test_a_capture_without_replays():
    trace = TraceBuilder().kernel("a", 0, 5, call=(0, 1)).api("cudaStreamBeginCapture", 50, 51)
    launches(trace, "cudaLaunchKernel", 60).api("cudaStreamEndCapture", 200, 201)
    assert refusal(trace) == (
        "built.duckdb: 60 launches went into a graph capture and only 1 ops ran, so this is a capture without replays: "
        "record some replays as well."
    )


def test_captured_launches_beside_replays_are_fine():
    """60 captured launches and 3 ops: 3 is 5 % of 60."""
    trace = replays(3).api("cudaStreamBeginCapture", 50, 51)
    assert refusal(launches(trace, "cudaLaunchKernel", 60).api("cudaStreamEndCapture", 200, 201)) is None


@pytest.mark.parametrize(("lost", "refused"), [(1, False), (2, True)], ids=["1 of 10 lost", "2 of 11 lost"])
def test_under_recorded_replays(lost, refused):
    sentence = refusal(launches(replays(9), "cudaGraphLaunch", lost))
    expected = (
        "built.duckdb: 2 of 11 graph launches carry no ops, so replays are under-recorded: "
        "record fewer steps at once, with larger profiler buffers."
    )
    assert sentence == (expected if refused else None)


def test_a_whole_trace_is_taken():
    assert refusal(replays(3)) is None


@pytest.mark.parametrize(
    "trace", [TraceBuilder(), launches(replays(1), "cudaGraphLaunch", 5)], ids=["no ops", "under-recorded"]
)
def test_the_source_file_is_named_where_it_is_known(trace):
    """A trace imported on the fly is named as the user knows it, not by its cache file."""
    sentence = refusal(trace.add("run", key="source", value="decode.sqlite"))
    assert sentence and re.match(r"decode\.sqlite: .+: (re-capture|record) .+\.$", sentence)
