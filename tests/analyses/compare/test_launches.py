"""A launch from a run with ops, from marks alone and from a document; warm-up left out and counted."""

import numpy as np
import pytest

from stepprof.analyses.attribution import Question
from stepprof.analyses.compare.launches import is_run_document, launch_of_document, launch_of_store, steady_steps
from stepprof.analyses.inflation import TracingInflation
from stepprof.profiler.errors import InputError, Refused
from tests.analyses.gates.gates import document
from tests.trace_builder import TraceBuilder


def steps(*walls: int, marks_alone: bool = False, gap: int = 0) -> TraceBuilder:
    """Steps of these lengths in µs, one after another; each with one kernel that fills it but for its ends."""
    trace, at = TraceBuilder(), 0
    for n, wall in enumerate(walls):
        end = at + 1000 * wall
        trace.range(f"step/{n}", at, end)
        if not marks_alone:
            trace.kernel("gemm", at + 20, end - 10, call=(at + 5, at + 6))
        at = end + gap
    if marks_alone:
        trace.add("manifest", key="backend", value="marks")
    return trace


def test_a_run_with_ops():
    launch = launch_of_store(steps(10, 11, 12).store())
    assert (launch.kind, launch.measure, launch.left_out) == ("trace", "window", 0)
    assert launch.step_ms.tolist() == [0.010, 0.011, 0.012]
    assert launch.found is not None and launch.inflation is None


def test_long_first_steps_and_asked_ones_are_left_out():
    launch = launch_of_store(steps(90, 10, 11, 12).store(), warm_up=1)
    assert (launch.step_ms.tolist(), launch.left_out) == ([0.011, 0.012], 2)


def test_a_run_of_marks_alone():
    launch = launch_of_store(steps(90, 10, 11, 12, marks_alone=True).store())
    assert (launch.kind, launch.measure, launch.found) == ("marks", "range", None)
    assert (launch.step_ms.tolist(), launch.left_out) == ([0.010, 0.011, 0.012], 1)


def test_marks_that_only_enqueue_are_timed_from_one_to_the_next():
    """Ranges of 2 µs every 12: a step is 12."""
    launch = launch_of_store(steps(2, 2, 2, marks_alone=True, gap=10_000).store())
    assert (launch.measure, launch.step_ms.tolist()) == ("period", [0.012, 0.012])


def test_marks_of_a_second_thread_are_no_steps():
    trace = steps(10, 11, 12, marks_alone=True).range("step/0", 0, 5, thread=2)
    assert launch_of_store(trace.store()).step_ms.tolist() == [0.010, 0.011, 0.012]


def test_marks_that_the_user_names():
    trace = TraceBuilder().add("manifest", key="backend", value="marks")
    trace.range("round 1", 0, 5000).range("round 2", 5000, 11_000)
    assert launch_of_store(trace.store(), Question(marker="^round")).step_ms.tolist() == [0.005, 0.006]
    with pytest.raises(Refused, match="no range marks a step"):
        launch_of_store(trace.store())


def test_all_steps_left_out_is_refused():
    with pytest.raises(Refused, match="no steady step is left of 3"):
        launch_of_store(steps(10, 11, 12).store(), warm_up=3)
    with pytest.raises(Refused, match=r"built.duckdb: all 3 steps are warm-up"):
        launch_of_store(steps(10, 11, 12, marks_alone=True).store(), warm_up=3)


def test_the_cost_of_tracing_comes_along():
    trace = steps(10, 11, 12).add("manifest", key="tracing_inflation", value="1.25")
    assert launch_of_store(trace.store()).inflation == TracingInflation(1.25, None)


def test_times_that_are_no_gpu_times_are_doubted():
    trace = steps(10, 11, 12).add("warning", code="cpu_stand_in", count=3, text="Ops of the CPU stand in.")
    assert launch_of_store(trace.store()).doubts == ("Ops of the CPU stand in.",)


def test_a_document():
    launch = launch_of_document(document(9.0, {"code": 1.0, "prose": 2.0}, k=5), "a.json")
    assert launch.step_ms.tolist() == [8.99, 9.0, 9.01] * 2
    assert (launch.kind, launch.measure, launch.figure_kind) == ("document", "host clock", "measured")
    assert launch.settings == {"preset": "tiny", "options.batch": "1", "options.k": "5"}


def test_a_document_of_one_simulated_class_is_simulated():
    found = document(9.0, {"code": 1.0, "prose": 2.0})
    found["classes"][1]["p50_step_ms"]["kind"] = "simulated"
    assert launch_of_document(found, "a.json").figure_kind == "simulated"


@pytest.mark.parametrize("steps", [None, [], ["x"], [1.0, float("nan")], [-1.0], [[1.0]]])
def test_documents_without_step_times(steps):
    found = document(9.0)
    found["classes"][0]["step_ms"] = steps
    with pytest.raises(InputError, match=r"a.json has (no step times \(step_ms\)|step times that are none)"):
        launch_of_document(found, "a.json")


def test_documents_of_another_form():
    assert is_run_document(document(1.0)) and not is_run_document({"preset": 1}) and not is_run_document([])
    with pytest.raises(InputError, match="has no classes with steps"):
        launch_of_document({"preset": "tiny", "classes": []}, "a.json")


def test_steady_steps():
    """The first two take more than three times the median of 10; the later 50 stays."""
    kept, left_out = steady_steps(np.array([99.0, 31.0, 10.0, 10.0, 10.0, 10.0, 50.0]), 0, "a.json")
    assert (kept.tolist(), left_out) == ([10.0, 10.0, 10.0, 10.0, 50.0], 2)
