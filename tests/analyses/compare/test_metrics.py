"""Figures of a launch by their names."""

import pytest

from stepprof.analyses.compare.launches import launch_of_document, launch_of_figures, launch_of_store
from stepprof.analyses.compare.metrics import figure_at, metric_of
from stepprof.analyses.sidecar.answer import sidecar
from stepprof.profiler.errors import Refused, UsageError
from tests.analyses.gates.gates import document
from tests.real_runs import run_of
from tests.trace_builder import TraceBuilder


def traced() -> TraceBuilder:
    """Two steps 0–100 and 100–200: 15 launch, gemm 30 or 50, then sync to the end."""
    trace = TraceBuilder()
    for n, length in enumerate((30, 50)):
        t = 100 * n
        trace.range(f"step/{n}", t, t + 100).range("layer/0/attention", t + 1, t + 50)
        trace.kernel("nvjet_tst_64x8", t + 20, t + 20 + length, call=(t + 5, t + 6))
    return trace


def read(metric: str, launch) -> float:
    return metric_of(metric).read(launch).value


def test_figures_of_a_traced_launch():
    """Attention (30 + 50) / 2 = 40 ns; launch 15; sync (50 + 30) / 2 = 40."""
    launch = launch_of_store(traced().store())
    assert read("step_ms", launch) == 100e-6
    assert read("exposed_ms:attention", launch) == 40e-6
    assert read("exposed_ms:router", launch) == 0
    assert (read("gap_ms:launch", launch), read("gap_ms:sync", launch)) == (15e-6, 40e-6)


def test_steps_left_out_are_left_out_of_every_figure():
    launch = launch_of_store(traced().store(), warm_up=1)
    assert read("exposed_ms:attention", launch) == 50e-6


def test_figures_of_ops_need_ops():
    with pytest.raises(Refused, match="was not traced, so it has no ops: run the gate without --untraced"):
        read("exposed_ms:attention", launch_of_document(document(9.0), "a.json"))


def test_throughput():
    launch = launch_of_document(document(9.0, {"code": 358.4, "prose": 285.3}, batch=8), "a.json")
    metric = metric_of("tokens_per_s:code@8")
    assert (metric.read(launch).value, metric.better, metric.unit) == (358.4, "higher", "tokens/s")
    assert read("tokens_per_s:prose", launch) == 285.3
    with pytest.raises(Refused, match="has no cell code@1, it has code@8, prose@8"):
        read("tokens_per_s:code@1", launch)


def test_figures_by_path():
    found = {"calls": [{"p50_us": {"value": 82.9, "kind": "measured"}, "floor_us": {"value": 10, "kind": "modelled"}}]}
    launch = launch_of_figures(found, "a.json")
    assert read("json:calls.0.p50_us", launch) == 82.9
    assert metric_of("json:calls.0.floor_us").read(launch).kind == "modelled"
    assert figure_at({"n": 3}, "n", "a.json").kind == "measured"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("b", r"'b' is not there, it has a, flag"),
        ("a.3", "'3' is not there, nothing of that name"),
        ("flag", "flag is no number"),
        ("a", "a is no number"),
    ],
)
def test_paths_that_lead_nowhere(path, why):
    with pytest.raises(Refused, match=why):
        figure_at({"a": [1, 2], "flag": True}, path, "a.json")


def test_a_launch_without_steps_or_document():
    with pytest.raises(Refused, match="has no step times"):
        read("step_ms", launch_of_figures({}, "a.json"))
    with pytest.raises(Refused, match="comes without a JSON document"):
        read("json:x", launch_of_store(traced().store()))


def test_figures_of_the_sidecar():
    """What breakdown --sidecar says of the same capture."""
    store = run_of("h200x2_overlap.sqlite")
    launch = launch_of_store(store)
    assert launch.found is not None
    found = sidecar(store, launch.found)
    assert read("sidecar_call_us", launch) == found.all.p50_us > 0
    assert read("join_wait_us", launch) == found.join_wait_us_per_step > 0
    rows = found.per_rows[0].rows
    assert rows is not None and read(f"sidecar_call_us:{rows}", launch) == found.per_rows[0].p50_us
    with pytest.raises(Refused, match="has no sidecar call of 99 rows"):
        read("sidecar_call_us:99", launch)
    with pytest.raises(UsageError, match="names no number of rows"):
        metric_of("sidecar_call_us:many")


def test_figures_of_the_sidecar_need_one():
    with pytest.raises(Refused):
        read("join_wait_us", launch_of_store(traced().store()))
