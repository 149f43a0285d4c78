"""Step times from marks, and the ratio of traced to untraced with its interval."""

import re

import numpy as np
import pytest

from stepprof.profiler.capture.control import StepTimes, compare, inside_ops, step_times
from tests.trace_builder import TraceBuilder

GRAMMARS = [("stepprof", [re.compile(r"^step/\d+$")]), ("other", [re.compile("^decode")])]


def times(durations, period=None) -> StepTimes:
    start = np.cumsum([0, *(durations if period is None else [period] * len(durations))])[:-1]
    return StepTimes("stepprof", start, start + np.array(durations))


def test_markers_of_the_first_grammar_on_the_busiest_thread():
    trace = TraceBuilder().range("step/0", 0, 10).range("step/1", 20, 35).range("decode", 0, 5)
    store = trace.range("step/0", 0, 99, thread=2).range("step/2", 40, 90, left_open=True).store()
    found = step_times(store, GRAMMARS)
    assert found is not None and found.grammar == "stepprof"
    assert found.values("range").tolist() == [10, 15]
    assert found.values("period").tolist() == [20]


def test_no_markers_no_times():
    assert step_times(TraceBuilder().range("x", 0, 10).store(), GRAMMARS) is None


def test_only_traced_steps_count():
    store = TraceBuilder().kernel("k", 25, 30, call=(21, 22)).store()
    assert inside_ops(store, times([10, 10, 10], period=20)).start.tolist() == [20]


@pytest.mark.parametrize(("durations", "period", "measure"), [([90] * 5, 100, "range"), ([5] * 5, 100, "period")])
def test_a_marker_that_only_enqueues_is_measured_by_its_period(durations, period, measure):
    assert times(durations, period).measure == measure


def test_ratio_of_medians_within_its_interval():
    draw = np.random.default_rng(1)
    found = compare(times(draw.normal(1300, 30, 200)), [times(draw.normal(1000, 20, 200))])
    assert found is not None
    assert found.low < 1.3 < found.high and found.low < found.ratio < found.high
    assert found.high - found.low < 0.03


def test_controls_that_differ_widen_the_interval():
    found = compare(times([1300.0] * 9), [times([1000.0] * 9), times([1100.0] * 9)])
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(1300 / 1100), pytest.approx(1.3))


def test_too_few_steps_give_no_ratio():
    assert compare(times([1.0] * 2), [times([1.0] * 9)]) is None


def replays(*gpu: int, step: int) -> StepTimes:
    """As many steps of one length, and what the GPU took for each."""
    found = times([step] * len(gpu))
    return StepTimes(found.grammar, found.start, found.end, np.array(gpu))


def test_the_difference_is_split_into_span_and_prologue():
    found = compare(replays(900, 950, 1000, step=1500), [replays(800, 850, step=1000), replays(850, 850, step=1000)])
    assert found is None  # a control of two steps gives no ratio
    found = compare(replays(900, 950, 1000, step=1500), [replays(800, 850, 900, step=1000)])
    assert found is not None
    assert (found.ratio, found.span, found.prologue) == (1.5, 0.1, 0.4)  # 500 more: 100 in the replay, 400 around it
    assert (found.manifest["inflation_span"], found.manifest["inflation_prologue"]) == ("0.1", "0.4")


def test_a_control_without_gpu_times_is_not_split():
    found = compare(replays(900, 950, 1000, step=1500), [times([1000] * 3)])
    assert found is not None and found.span is None and found.prologue is None
    assert "inflation_span" not in found.manifest


def test_gpu_times_are_spans_of_replays_or_what_the_program_says():
    traced = TraceBuilder().range("step/0", 0, 100).kernel("prefill", 1, 2).step_fact(0, gpu_ns=7)
    traced.graph_launch(call=(5, 6)).kernel("a", 10, 20, node=1).kernel("b", 15, 40, node=2)
    control = TraceBuilder().range("step/0", 0, 100).step_fact(0, gpu_ns=25).step_fact(1)
    for run, expected in ((traced, [30]), (control, [25])):
        found = step_times(run.store(), GRAMMARS)
        assert found is not None and found.gpu.tolist() == expected
