"""Which ops belong to which step, and what is doubtful about a step."""

import pytest

from stepprof.analyses.lost_launches import short_replays
from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import load_ops
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import find_steps
from tests.analyses.accounts import account, find
from tests.trace_builder import TraceBuilder


def owners(trace: TraceBuilder) -> dict[str, str | None]:
    """For each op name the label of its step."""
    steps, ops = find(trace), load_ops(trace.store())
    label = [*steps.label, None]
    return {ops.names[name]: label[step] for name, step in zip(ops.name, steps.of_op, strict=True)}


def test_an_op_belongs_to_the_step_in_which_it_was_called():
    """By its call, not by when it ran: b runs in step/1's time, c in no step's."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 20, 30, call=(5, 6)).kernel("b", 150, 160, call=(99, 101))
    trace.kernel("c", 300, 310, call=(100, 101)).kernel("d", 320, 330, call=(200, 201))

    assert owners(trace) == {"a": "step/0", "b": "step/0", "c": "step/1", "d": None}


def test_all_ops_of_a_graph_belong_to_the_step_of_its_launch():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.graph_launch(call=(98, 102)).kernel("a", 110, 120, node=1).kernel("b", 120, 130, node=2, device=1)

    assert owners(trace) == {"a": "step/0", "b": "step/0"}


def test_markers_on_several_threads_take_their_own_launches():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 10, 110, thread=2)
    trace.kernel("a", 20, 30, call=(15, 16)).kernel("b", 40, 50, call=(15, 16), thread=2, stream=8)
    trace.kernel("c", 60, 70, call=(15, 16), thread=3, stream=9)

    assert owners(trace) == {"a": "step/0", "b": "step/1", "c": None}


def two_by_two() -> TraceBuilder:
    """Steps 0-100 and 100-200, whose own ops run at 10-30 and 60-80 of each."""
    trace = TraceBuilder()
    for n, at in enumerate((0, 100)):
        trace.range(f"step/{n}", at, at + 100).kernel("own", at + 10, at + 30, call=(at + 2, at + 3))
        trace.kernel("own", at + 60, at + 80, call=(at + 4, at + 5))
    return trace


def test_a_helper_works_for_the_step_that_was_on():
    """Within the step's own ops; not what ends behind them, what was called in no step, or another process."""
    trace = two_by_two()
    for name, start, call, where in (
        ("a", 40, 35, {"thread": 2}), ("b", 140, 135, {"thread": 2}), ("late", 75, 36, {"thread": 2}),
        ("after", 40, 205, {"thread": 2}), ("theirs", 40, 35, {"process": 1}),
    ):  # fmt: skip
        trace.kernel(name, start, start + 10, call=(call, call + 1), stream=8, **where)

    found = owners(trace)
    assert {name: found[name] for name in ("a", "b", "late", "after", "theirs")} == {
        "a": "step/0", "b": "step/1", "late": None, "after": None, "theirs": None,
    }  # fmt: skip


def test_a_second_thread_that_marks_but_launches_nothing_changes_no_helper():
    trace = two_by_two().range("step/9", 300, 310, thread=3)
    trace.kernel("a", 40, 50, call=(35, 36), thread=2, stream=8)

    assert owners(trace)["a"] == "step/0"


def test_marks_of_a_thread_that_launches_nothing_are_no_steps():
    """A scheduler marks the step to come while the worker, with marks of its own, launches everything."""
    trace = TraceBuilder()
    for n, at in enumerate((0, 100, 200)):
        trace.range(f"step {n + 1}", at + 5, at + 95, thread=7)
        trace.range(f"execute_8_context_0(0)_generation_1({n})", at, at + 98)
        trace.kernel("a", at + 10, at + 30, call=(at + 2, at + 3)).kernel(
            "b", at + 40, at + 90, call=(at + 30, at + 31)
        )

    assert account(trace).steps.method == "marker vllm"
    assert set(owners(trace).values()) == {"execute_8_context_0(0)_generation_1(2)"}


def test_correlations_that_collide_between_processes_do_not_join():
    """Both processes use correlation 7; only process 0 has a step."""
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 30, correlation=7).api("cudaLaunchKernel", 5, 6, correlation=7)
    trace.kernel("b", 40, 50, correlation=7, process=1)
    trace.api("cudaLaunchKernel", 8, 9, correlation=7, process=1)

    assert owners(trace) == {"a": "step/0", "b": None}


def test_ops_without_a_correlation_share_no_launch():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    trace.kernel("b", 40, 50, correlation=None).kernel("c", 60, 70, correlation=None)
    ops = load_ops(trace.store())

    assert owners(trace) == {"a": "step/0", "b": None, "c": None}
    assert len(set(ops.launch.tolist())) == 3


def test_of_two_grammars_around_the_same_work_one_counts():
    """SGLang: execute_* around step[DECODE …]; two steps, not four."""
    trace = TraceBuilder()
    for i in range(2):
        at = 100 * i
        trace.range("execute_32_context_0(sq0)_generation_32(sq32)", at, at + 90)
        trace.range("step[DECODE bs=32]", at + 5, at + 80).kernel("a", at + 20, at + 30, call=(at + 10, at + 11))
    steps = find(trace)

    assert (steps.method, len(steps), steps.confidence) == ("marker vllm", 2, 1.0)
    assert steps.windows.ops.tolist() == [1, 1]


def test_a_grammar_whose_ranges_hold_no_op_gives_way():
    """step/0 was open while nothing was launched; the decode_step ranges hold the ops."""
    trace = TraceBuilder().range("step/0", 0, 10).range("decode_step_0", 50, 100)
    steps = find(trace.kernel("a", 70, 80, call=(60, 61)))

    assert (steps.method, steps.label) == ("marker decode_step", ["decode_step_0"])


def test_where_no_step_is_found_what_was_tried_is_told():
    trace = TraceBuilder().range("step/0", 0, 10).kernel("a", 70, 80, call=(60, 61))
    store, rules = trace.store(), load_rules()
    ops, ranges = load_ops(store), load_ranges(store, rules)

    assert find_steps(store, ops, ranges, rules, "^turn") == (None, ["no range matches --marker ^turn"])
    steps, tried = find_steps(store, ops, ranges, rules)
    assert steps is None and tried[0] == "1 ranges of the marker 'stepprof' hold no GPU op"


def test_a_marker_may_say_its_phase():
    trace = TraceBuilder().range("step[EXTEND bs=1 toks=9]", 0, 10).range("step[DECODE bs=1]", 10, 20)
    steps = find(trace.kernel("a", 3, 5, call=(1, 2)).kernel("b", 13, 15, call=(11, 12)))

    assert steps.phase == ["prefill", None]


def test_a_step_without_ops_is_flagged_and_left_out():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    steps = find(trace.kernel("a", 20, 30, call=(5, 6)))

    assert (steps.flags, steps.usable) == ([[], ["no_ops"]], [0])


@pytest.mark.parametrize(
    ("counts", "incomplete"),
    [
        pytest.param([8, 10, 10, 10], [0], id="first"),
        pytest.param([10, 10, 10, 8], [3], id="last"),
        pytest.param([1, 10, 12, 1], [0, 3], id="both"),
        pytest.param([9, 10, 10, 9], [], id="nine tenths of the fewest"),
        pytest.param([10, 5, 10, 10], [], id="only first and last can be cut off"),
        pytest.param([5, 10, 10], [], id="one step between proves nothing"),
    ],
)
def test_first_and_last_steps_with_fewer_ops_are_incomplete(counts, incomplete):
    trace = TraceBuilder()
    for step, count in enumerate(counts):
        trace.range(f"step/{step}", 100 * step, 100 * step + 90)
        for i in range(count):
            at = 100 * step + 5 * i
            trace.kernel("a", at + 10, at + 12, call=(at, at + 1))
    steps = find(trace)

    assert [i for i, flags in enumerate(steps.flags) if "incomplete" in flags] == incomplete
    assert steps.usable == [i for i in range(len(counts)) if i not in incomplete]


def test_a_launch_without_an_op_flags_its_step():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 20, 30, call=(5, 6)).kernel("b", 120, 130, call=(105, 106))
    found = account(trace.api("cudaLaunchKernel", 110, 111, correlation=99))

    assert (found.steps.flags, found.steps.usable) == ([[], ["launches_lost"]], [0])
    assert [(w["code"], w["count"]) for w in found.warnings] == [("launches_lost", 1)]
    assert found.warnings[0]["text"] == "1 launches carry no op: the profiler lost their records."


def test_a_captured_launch_is_not_lost():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    trace.api("cudaStreamBeginCapture", 40, 41).api("cudaLaunchKernel", 42, 43, correlation=99)
    trace.api("cudaStreamEndCapture", 44, 45)
    found = account(trace)

    assert (found.steps.flags, found.warnings) == ([[]], [])


def test_another_threads_capture_excuses_no_lost_launch():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    trace.api("cudaStreamBeginCapture", 40, 41, thread=2).api("cudaLaunchKernel", 42, 43, correlation=99)
    found = account(trace.api("cudaStreamEndCapture", 44, 45, thread=2))

    assert found.steps.flags == [["launches_lost"]]


def test_captures_on_two_threads_end_each_for_itself():
    """Thread 2's capture, begun first, ends while thread 1 still captures."""
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    trace.api("cudaStreamBeginCapture", 38, 39, thread=2).api("cudaStreamBeginCapture", 40, 41)
    trace.api("cudaStreamEndCapture", 42, 43, thread=2).api("cudaLaunchKernel", 44, 45, correlation=99)
    found = account(trace.api("cudaStreamEndCapture", 50, 51))

    assert found.steps.flags == [[]]


def replays(*nodes: tuple[int, ...]) -> TraceBuilder:
    """One step a replay, of the nodes given."""
    trace = TraceBuilder()
    for i, ran in enumerate(nodes):
        trace.range(f"step/{i}", 100 * i, 100 * i + 90)
        graph = trace.graph_launch(call=(100 * i + 1, 100 * i + 2))
        for k, node in enumerate(ran):
            graph.kernel("a", 100 * i + 10 + 5 * k, 100 * i + 12 + 5 * k, node=node)
    return trace


def test_a_replay_with_fewer_ops_than_another_flags_its_step():
    found = account(replays((1, 2, 3), (1, 3), (1, 2, 3)))

    assert (found.steps.flags, found.steps.usable) == ([[], ["launches_lost"], []], [0, 2])
    assert [(w["code"], w["count"], w["text"][:20]) for w in found.warnings] == [
        ("launches_lost", 1, "1 replays lack ops: ")
    ]


def test_a_smaller_graph_is_no_short_replay():
    assert short_replays(load_ops(replays((1, 2, 3), (11, 12), (1, 2, 3)).store())).tolist() == []


def test_replays_that_lost_different_ops_are_one_graph():
    """Replay 1 kept nodes 1 and 2, replay 2 kept 2 and 3; the fullest shows that each lacks one."""
    assert short_replays(load_ops(replays((1, 2, 3), (1, 2), (2, 3)).store())).tolist() == [1, 2]


def test_replays_are_one_graph_over_links_of_common_nodes():
    """No replay is whole: 1 2 and 2 3 share node 2, 2 3 and 3 4 5 share node 3."""
    assert short_replays(load_ops(replays((1, 2), (2, 3), (3, 4, 5)).store())).tolist() == [0, 1]


def test_whole_replays_are_not_flagged():
    found = account(replays((1, 2), (1, 2)))
    assert (found.steps.flags, found.warnings) == ([[], []], [])


def test_leading_steps_of_many_times_the_median_are_warm_up_and_left_out():
    """Walls 1000, 40, 10, 10, 10, 40: the median is 25, so only the first is beyond 75; a late outlier stays."""
    trace, start = TraceBuilder(), 0
    for i, wall in enumerate([1000, 40, 10, 10, 10, 40]):
        trace.range(f"step/{i}", start, start + wall).kernel("k", start + 2, start + 4, call=(start + 1, start + 2))
        start += wall
    steps = account(trace).steps

    assert steps.flags == [["warm_up"], [], [], [], [], []]
    assert steps.usable == [1, 2, 3, 4, 5]
