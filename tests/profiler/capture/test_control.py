"""Step times from marks, and the ratio of traced to untraced with its interval."""

import re
from dataclasses import replace

import numpy as np
import pytest

from stepprof.profiler.capture.control import (
    TOO_FEW,
    UNMARKED,
    Inflation,
    StepTimes,
    compare,
    inflation,
    inside_ops,
    step_times,
)
from tests.trace_builder import TraceBuilder

GRAMMARS = [("stepprof", [re.compile(r"^step/\d+$")]), ("other", [re.compile("^decode")])]


def times(durations, period=None) -> StepTimes:
    start = np.cumsum([0, *(durations if period is None else [period] * len(durations))])[:-1]
    number = np.arange(len(start))
    return StepTimes("stepprof", start, start + np.array(durations), number.astype(str).astype(object), number)


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
    return replace(found, gpu=np.array(gpu))


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


def run(*lengths, name="step/{}", ops=range(0), told=False):
    """Steps of these lengths, one after another; a graph launch in some, or the program's word on all."""
    trace, at = TraceBuilder(), 0
    for n, length in enumerate(lengths):
        trace.range(name.format(n), at, at + length)
        if n in ops:
            trace.graph_launch(call=(at + 1, at + 2)).kernel("k", at + 3, at + 3 + length // 2, node=1)
        if told:
            trace.step_fact(n, gpu_ns=length // 4)
        at += length
    return trace.store()


def control(*lengths, **more) -> StepTimes:
    found = step_times(run(*lengths, **more), GRAMMARS)
    assert found is not None
    return found


GROWING = [100, 200, 300, 400, 500, 600, 700, 800]


@pytest.mark.parametrize("name", ["step/{}", "decode", "decode a{}"])
def test_a_window_is_compared_with_its_own_steps(name):
    """By text; by number where texts repeat."""
    found = inflation(
        run(*[2 * ns for ns in GROWING], name=name, ops=range(4, 7)), GRAMMARS, [control(*GROWING, name=name)]
    )
    assert isinstance(found, Inflation)
    assert (found.ratio, found.control_ns) == (2, [500, 600, 700])


def test_texts_decide_where_the_runs_began_elsewhere():
    traced = run(1200, 1400, 1600, name="step/5{}", ops=range(3))
    untraced = TraceBuilder().range("step/9", 0, 5)
    for n in range(3):
        untraced.range(f"step/5{n}", 1000 * (n + 1), 1000 * (n + 1) + 600 + 100 * n)
    times = step_times(untraced.store(), GRAMMARS)
    assert times is not None
    found = inflation(traced, GRAMMARS, [times])
    assert isinstance(found, Inflation) and (found.ratio, found.control_ns) == (2, [600, 700, 800])


def test_texts_that_no_run_shares_are_compared_by_number():
    found = inflation(run(2, 4, 6, name="decode a{}"), GRAMMARS, [control(1, 2, 3, 4, name="decode b{}")])
    assert isinstance(found, Inflation) and found.control_ns == [1, 2, 3]


def test_texts_that_repeat_tell_nothing_where_markers_before_the_window_are_missing():
    traced = run(20, 20, 20, name="decode", ops=range(3))
    assert inflation(traced, GRAMMARS, [control(10, 10, 10, 10, name="decode")], numbered=False) == UNMARKED
    assert isinstance(inflation(run(9, 9, 9), GRAMMARS, [control(3, 3, 3, 3)], numbered=False), Inflation)


def test_why_there_is_no_ratio():
    marked = run(*GROWING, ops=range(2))
    assert inflation(marked, GRAMMARS, [control(*GROWING)]) == TOO_FEW
    assert inflation(marked, GRAMMARS, []) == UNMARKED
    assert inflation(run(1, 2, 3, name="x"), GRAMMARS, [control(*GROWING)]) == UNMARKED


def test_gpu_times_of_the_control_are_those_of_the_window():
    traced = run(*[2 * ns for ns in GROWING], ops=range(4, 7))  # spans 500, 600, 700; the program said 125, 150, 175
    found = inflation(traced, GRAMMARS, [control(*GROWING, told=True)])
    assert isinstance(found, Inflation) and found.span == (600 - 150) / 600
