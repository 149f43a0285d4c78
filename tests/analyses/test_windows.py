"""Window, span, period and what lies between, of each step."""

from typing import Any

from tests.analyses.accounts import find
from tests.trace_builder import TraceBuilder


def two_steps(**first: Any) -> TraceBuilder:
    """Ranges 0–100 and 150–250; step 1's op runs from 170 to 180."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 150, 250)
    return trace.kernel("a", **first, call=(5, 6)).kernel("b", 170, 180, call=(160, 161))


def bounds(trace: TraceBuilder) -> list[tuple[int, int, bool]]:
    """Start, end and whether it is the host's, of each window."""
    windows = find(trace).windows
    return list(zip(windows.start.tolist(), windows.end.tolist(), windows.host.tolist(), strict=True))


def test_the_host_range_where_all_ops_end_inside_it():
    windows = find(two_steps(start=20, end=30)).windows

    assert bounds(two_steps(start=20, end=30)) == [(0, 100, True), (150, 250, True)]
    assert (windows.gpu_start.tolist(), windows.gpu_end.tolist()) == ([20, 170], [30, 180])
    assert windows.between.tolist() == [150 - 100, -1]
    assert windows.period.tolist() == [150 - 0, -1]


def test_an_op_that_ends_with_the_range_is_inside():
    assert bounds(two_steps(start=20, end=100))[0] == (0, 100, True)


def test_ops_that_end_after_the_range_make_it_the_gpus_window():
    """From its first op to the next step's first op; the next step keeps its range."""
    assert bounds(two_steps(start=20, end=101)) == [(20, 170, False), (150, 250, True)]


def test_gpu_work_may_start_after_its_range_ended():
    trace = TraceBuilder()
    for i in range(3):
        trace.range(f"step/{i}", 10 * i, 10 * i + 10)
        trace.kernel("a", 100 + 40 * i, 130 + 40 * i, call=(10 * i + 2, 10 * i + 3))
    windows = find(trace).windows

    # the last window ends with its own last op
    assert bounds(trace) == [(100, 140, False), (140, 180, False), (180, 210, False)]
    assert (windows.host_start.tolist(), windows.host_end.tolist()) == ([0, 10, 20], [10, 20, 30])
    assert (windows.period.tolist(), windows.between.tolist()) == ([40, 40, -1], [0, 0, -1])
    assert windows.clipped.tolist() == [0, 0, 0]


def test_another_steps_op_in_the_range_makes_it_the_gpus_window():
    """a runs from 20 to 160, 10 into step 1's range."""
    assert bounds(two_steps(start=20, end=160)) == [(20, 170, False), (170, 180, False)]


def test_another_steps_op_that_ends_as_the_range_begins_is_not_in_it():
    assert bounds(two_steps(start=20, end=150)) == [(20, 170, False), (150, 250, True)]


def test_an_unassigned_op_in_the_range_leaves_it_the_hosts():
    trace = two_steps(start=20, end=30).kernel("stray", 90, 110, call=(1, 2), process=1, stream=8)
    assert bounds(trace)[0] == (0, 100, True)


def test_an_op_that_starts_before_its_range_makes_it_the_gpus_window():
    """The clocks differ: called at 5, started at 3 on a range from 4 on."""
    trace = TraceBuilder().range("step/0", 4, 100).kernel("a", 3, 30, call=(5, 6))
    assert bounds(trace) == [(3, 30, False)]


def test_ops_over_the_end_of_the_gpus_window_are_counted():
    """a and z of step 0 run into and after the start of step 1's first op at 170."""
    trace = two_steps(start=20, end=175).kernel("z", 200, 210, call=(7, 8), stream=8)
    windows = find(trace).windows

    assert bounds(trace) == [(20, 170, False), (170, 180, False)]
    assert windows.clipped.tolist() == [2, 0]


def test_a_step_without_ops_is_passed_over_for_the_next_first_op():
    trace = TraceBuilder().range("step/0", 0, 50).range("step/1", 50, 60).range("step/2", 60, 70)
    trace.kernel("a", 20, 80, call=(2, 3)).kernel("c", 100, 110, call=(62, 63))
    windows = find(trace).windows

    assert bounds(trace) == [(20, 100, False), (50, 60, False), (100, 110, False)]
    assert (windows.ops.tolist(), windows.gpu_start.tolist()) == ([1, 0, 1], [20, -1, 100])


def test_a_single_op_without_length():
    trace = TraceBuilder().range("step/0", 0, 10).kernel("a", 20, 20, call=(5, 6))
    assert bounds(trace) == [(20, 20, False)]
