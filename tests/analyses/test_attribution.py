"""Whatever the trace, every ns of every step is an op's or a gap's, and no share is more than its op's work."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepprof.analyses.attribution import Attribution, Question, attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.ops import UNKNOWN
from stepprof.profiler.errors import Refused
from tests.analyses.accounts import account
from tests.trace_builder import TraceBuilder

NAMES = ["a", "nvjet_tst_64x8", "void spin_wait_kernel(int*)"]
SYNCS = ["cudaDeviceSynchronize", "cudaStreamSynchronize"]
short = st.integers(0, 12)
cards = st.integers(0, 1)
threads = st.sampled_from([1, 1, 1, 2])
nodes = st.integers(1, 5)
lists = partial(st.lists, min_size=1, max_size=8)


@st.composite
def random_traces(draw: st.DrawFn) -> TraceBuilder:
    """Steps that may touch, overlap or spill over, with eager ops, graphs, events and synchronizing calls."""
    trace, at = TraceBuilder(), 50
    for step, (length, apart) in enumerate(draw(st.lists(st.tuples(short, short), min_size=2, max_size=4))):
        trace.range(f"step/{step}", at, at + 4 * length, thread=draw(threads))
        at += max(4 * length + apart - 4, 0)
    times = st.integers(50, at)
    for name, card, stream, call, thread, delay, length in draw(
        lists(st.tuples(st.sampled_from(NAMES), cards, st.integers(7, 8), times, threads, short, short))
    ):
        start = call + delay - 2  # the clocks of host and GPU may differ a little
        where = {"device": card, "stream": stream, "thread": thread}
        trace.kernel(name, start, start + length, call=(call, call + 3), **where)
    node_times = st.dictionaries(nodes, st.tuples(cards, short, short), min_size=2)
    for call, ran in draw(st.lists(st.tuples(times, node_times), min_size=1, max_size=3)):
        graph, start = trace.graph_launch(call=(call, call + 2)), call
        for node, (card, delay, length) in sorted(ran.items()):
            start += delay - 3
            graph.kernel(NAMES[node % 3], start, start + length, node=node, device=card)
            start += length
    for a, b, pdl in draw(st.lists(st.tuples(nodes, nodes, st.booleans()), max_size=6)):  # from low to high: a DAG
        trace.edge(min(a, b), max(a, b) + 1, "programmatic" if pdl else "full")
    for record, wait, card in draw(st.lists(st.tuples(times, times, cards), max_size=2)):
        trace.event_record(7, 1, at=(record, record + 1), device=card).event_wait(8, 1, at=(wait, wait + 1))
    for call, length, thread in draw(st.lists(st.tuples(times, short, threads), max_size=2)):
        trace.api(SYNCS[length % 2], call, call + length, thread=thread)
    return trace


def attributed(trace: TraceBuilder) -> Attribution | None:
    """None where the trace is refused, which is an answer."""
    try:
        return account(trace)
    except Refused:
        return None


@given(random_traces())
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_every_ns_of_every_step_is_accounted_for(trace):
    found = attributed(trace)
    if found is None:
        return
    path, pieces, steps = found.path, found.gaps, found.steps
    segment = path.segment_end - path.segment_start
    gap = pieces.end - pieces.start
    assert (segment >= 0).all() and (gap > 0).all()

    for step, wall in enumerate(steps.wall):
        mine = found.work & (path.segment_step == step)
        assert segment[mine].sum() + gap[pieces.step == step].sum() == wall
        assert disjoint(
            np.concatenate([path.segment_start[mine], pieces.start[pieces.step == step]]),
            np.concatenate([path.segment_end[mine], pieces.end[pieces.step == step]]),
        )
        _check_breakdown(found, step)
    assert (found.exposed() <= found.ops.duration).all()
    assert (found.exposed()[steps.of_op == UNKNOWN] == 0).all()


def _check_breakdown(found: Attribution, step: int) -> None:
    """Rows and gaps of one step add up to it; work, busy and exposed keep their order."""
    made = breakdown(found, chosen=[step])
    totals = made.totals
    assert totals["exposed_ns"] + totals["gap_ns"] == totals["wall_ns"] == found.steps.wall[step]
    assert sum(row.exposed_total_ns for row in made.rows) == totals["exposed_ns"]
    assert sum(row.exposed_total_ns for row in made.gaps) == totals["gap_ns"]
    for row in made.rows:
        assert 0 <= row.exposed_ns <= row.work_ns and 0 <= row.busy_ns <= row.work_ns
        assert row.hidden_ns == row.work_ns - row.exposed_ns


def disjoint(start: np.ndarray, end: np.ndarray) -> bool:
    order = np.argsort(start[end > start])
    start, end = start[end > start][order], end[end > start][order]
    return bool((start[1:] >= end[:-1]).all())


def test_exposed_time_is_that_of_work_on_the_path():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 10, 30, call=(1, 2))
    trace.kernel("hidden", 12, 20, call=(3, 4), stream=8).kernel("b", 30, 35, call=(5, 6))
    assert account(trace).exposed().tolist() == [20, 0, 5]


def test_tracing_inflation_comes_from_the_control_run():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 10, 30, call=(1, 2))
    assert account(trace).tracing_inflation is None
    assert account(trace.add("manifest", key="tracing_inflation", value="1.25")).tracing_inflation == 1.25


def test_warnings_of_the_import_stay():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 10, 30, call=(1, 2))
    warning = {"code": "zero_times", "count": 3, "text": "3 ops without times were left out."}
    assert account(trace.add("warning", **warning)).warnings == [warning]


def test_the_users_marker_is_asked_for_first():
    trace = TraceBuilder().range("step/0", 0, 100).range("turn 1", 0, 30).range("turn 2", 50, 80)
    trace.kernel("a", 10, 20, call=(1, 2)).kernel("b", 60, 70, call=(51, 52))
    found = attribute(trace.store(), Question(marker=r"^turn \d"))
    assert (found.steps.label, found.steps.method) == (["turn 1", "turn 2"], r"marker --marker ^turn \d")


def test_rules_of_the_user_apply(tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text("[[marker]]\nname = 'mine'\npattern = '^turn'\n")
    trace = TraceBuilder().range("turn 1", 0, 100).kernel("a", 10, 20, call=(1, 2))
    assert attribute(trace.store(), Question(rules=rules)).steps.label == ["turn 1"]


def test_a_marker_that_fits_no_range_is_refused_with_what_was_tried():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 10, 20, call=(1, 2))
    with pytest.raises(Refused, match=r"built\.duckdb: no steps found .*turn.*--marker REGEX"):
        attribute(trace.store(), Question(marker="turn"))
