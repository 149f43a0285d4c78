"""The class of every gap on the path, and the rule that decides it."""

import pytest

from tests.analyses.accounts import Piece, account, exposed, gaps, on_path
from tests.trace_builder import TraceBuilder

SPIN = "void spin_wait_kernel(unsigned int volatile*)"


def after_p(trace: TraceBuilder) -> TraceBuilder:
    """A step of 100 ns whose op p runs from 20 to 40 on stream 7 of card 0."""
    return trace.range("step/0", 0, 100).kernel("p", 20, 40, call=(5, 6))


def between(trace: TraceBuilder, step: int = 0) -> list[Piece]:
    """The gaps between p's end and x's start."""
    return [piece for piece in gaps(account(trace), step) if 40 <= piece[1] < 60]


# --- before an op that heads its own launch ----------------------------------------------


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(30, [("launch_queue", 40, 60)], id="called before p ended"),
        pytest.param(39, [("launch_queue", 40, 60)], id="called 1 ns before p ended"),
        pytest.param(40, [("launch", 40, 60)], id="called as p ended"),
        pytest.param(50, [("host", 40, 50), ("launch", 50, 60)], id="called late"),
        pytest.param(60, [("host", 40, 60)], id="started as it was called"),
        pytest.param(70, [("host", 40, 60)], id="started before it was called (clock skew)"),
    ],
)
def test_before_a_single_op(call, expected):
    assert between(after_p(TraceBuilder()).kernel("x", 60, 75, call=(call, call + 1))) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(30, [("graph_boundary", 40, 60)], id="called before p ended"),
        pytest.param(50, [("host", 40, 50), ("launch", 50, 60)], id="called late"),
    ],
)
def test_before_a_graph(call, expected):
    trace = after_p(TraceBuilder())
    trace.graph_launch(call=(call, call + 1)).kernel("x", 60, 70, node=1).kernel("y", 70, 75, node=2)
    assert between(trace.edge(1, 2)) == expected


def test_before_the_first_op_is_host_then_launch():
    """Called at 5, so host 5 + launch 15."""
    assert gaps(account(after_p(TraceBuilder())))[:2] == [("host", 0, 5), ("launch", 5, 20)]


def test_after_the_last_op_is_sync():
    assert gaps(account(after_p(TraceBuilder())))[-1] == ("sync", 40, 100)


# --- what the host did before a late call -------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "cudaDeviceSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cuCtxSynchronize",
        "cuStreamSynchronize",
        "cudaMemcpy",
        "cuMemcpyDtoH_v2",
        "hipDeviceSynchronize",
    ],
)
def test_a_synchronizing_call_before_a_late_launch(call):
    trace = after_p(TraceBuilder()).api(call, 10, 45).kernel("x", 60, 75, call=(50, 52))
    assert between(trace) == [("sync", 40, 45), ("host", 45, 50), ("launch", 50, 60)]


@pytest.mark.parametrize("call", ["cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamQuery", "cudaEventRecord"])
def test_a_call_that_does_not_wait_is_host(call):
    trace = after_p(TraceBuilder()).api(call, 10, 45).kernel("x", 60, 75, call=(50, 52))
    assert between(trace) == [("host", 40, 50), ("launch", 50, 60)]


def test_several_synchronizing_calls_in_one_gap():
    trace = after_p(TraceBuilder()).api("cudaStreamSynchronize", 41, 43).api("cudaStreamSynchronize", 44, 47)
    assert between(trace.kernel("x", 60, 75, call=(50, 52))) == [
        ("host", 40, 41),
        ("sync", 41, 43),
        ("host", 43, 44),
        ("sync", 44, 47),
        ("host", 47, 50),
        ("launch", 50, 60),
    ]


@pytest.mark.parametrize("elsewhere", [{"thread": 2}, {"process": 1}], ids=["another thread", "another process"])
def test_another_threads_synchronizing_call_is_not_ours(elsewhere):
    """Our own thread waited from 41 to 43 only."""
    trace = after_p(TraceBuilder()).api("cudaDeviceSynchronize", 10, 45, **elsewhere)
    trace.api("cudaDeviceSynchronize", 41, 43).kernel("x", 60, 75, call=(50, 52))

    assert between(trace) == [("host", 40, 41), ("sync", 41, 43), ("host", 43, 50), ("launch", 50, 60)]


# --- two cards --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(30, [("sidecar_wait", 40, 60)], id="called before p ended"),
        pytest.param(50, [("host", 40, 50), ("launch", 50, 60)], id="called late"),
    ],
)
def test_before_an_op_that_waits_for_the_other_card(call, expected):
    """x on card 1 waits for p by event; a launch that came late waited for the host."""
    trace = after_p(TraceBuilder()).event_record(7, 1, at=(7, 8)).event_wait(9, 1, at=(10, 11), device=1)
    assert between(trace.kernel("x", 60, 75, call=(call, call + 2), device=1, stream=9)) == expected


def test_inside_a_graph_the_other_card_decides_between_in_graph_and_sidecar_wait():
    trace = TraceBuilder().range("step/0", 0, 100)
    graph = trace.graph_launch(call=(5, 6)).kernel("a", 20, 30, node=1).kernel("b", 31, 40, node=2)
    graph.kernel("s", 43, 50, node=3, device=1).kernel("t", 51, 55, node=4, device=1).kernel("c", 60, 70, node=5)
    found = account(trace.edge(1, 2).edge(2, 3).edge(3, 4).edge(4, 5))

    assert gaps(found)[2:-1] == [
        ("in_graph", 30, 31),
        ("sidecar_wait", 40, 43),
        ("in_graph", 50, 51),
        ("sidecar_wait", 55, 60),
    ]


# --- spin-wait kernels --------------------------------------------------------------------


@pytest.mark.parametrize(("cards", "expected"), [(1, "wait"), (2, "sidecar_wait")])
def test_a_spin_wait_on_the_path_is_a_gap(cards, expected):
    trace = TraceBuilder().range("step/0", 0, 100)
    graph = trace.graph_launch(call=(5, 6)).kernel("a", 20, 30, node=1)
    graph.kernel(SPIN, 32, 60, node=2).kernel("b", 61, 70, node=3)
    if cards == 2:
        graph.kernel("s", 33, 50, node=4, device=1)
    found = account(trace.edge(1, 2).edge(2, 3))

    # 5 + 15 + 10 a + 2 + 28 spin + 1 + 9 b + 30 = 100
    assert on_path(found) == [("a", 20, 30), ("b", 61, 70)]
    assert gaps(found)[2:-1] == [("in_graph", 30, 32), (expected, 32, 60), ("in_graph", 60, 61)]
    assert exposed(found)[SPIN] == 0


def test_a_spin_wait_that_starts_before_its_dependency_ended_counts_from_that_end_on():
    trace = TraceBuilder().range("step/0", 0, 100)
    graph = trace.graph_launch(call=(5, 6)).kernel("a", 20, 40, node=1)
    graph.kernel(SPIN, 32, 60, node=2).kernel("b", 61, 70, node=3)
    found = account(trace.edge(1, 2).edge(2, 3))

    assert on_path(found) == [("a", 20, 40), ("b", 61, 70)]
    assert gaps(found)[2:-1] == [("wait", 40, 60), ("in_graph", 60, 61)]


def test_a_spin_wait_of_no_step_is_other_step():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    trace.kernel(SPIN, 30, 50, call=(7, 8), process=1).kernel("b", 50, 70, call=(9, 10))

    assert gaps(account(trace))[2:-1] == [("other_step", 30, 50)]


def test_a_spin_wait_that_is_hidden_is_no_gap():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 60, call=(5, 6)).kernel(SPIN, 20, 50, call=(7, 8), stream=8)

    assert gaps(account(trace)) == [("host", 0, 5), ("launch", 5, 20), ("sync", 60, 100)]


# --- other steps' ops inside gaps ---------------------------------------------------------


def test_the_part_of_a_gap_in_which_only_other_ops_run_is_other_step():
    """Strays, called by another process on other streams, run in 30–41, 43–46, 45–48 and 55–70."""
    trace = after_p(TraceBuilder()).kernel("x", 60, 75, call=(30, 31))
    for stream, start, end in ((8, 30, 41), (9, 43, 46), (10, 45, 48), (11, 55, 70)):
        trace.kernel("stray", start, end, call=(1, 2), process=1, stream=stream)

    # 1 other + 2 queue + 5 other + 7 queue + 5 other = 20
    assert between(trace) == [
        ("other_step", 40, 41),
        ("launch_queue", 41, 43),
        ("other_step", 43, 48),
        ("launch_queue", 48, 55),
        ("other_step", 55, 60),
    ]


def test_a_gap_in_which_an_own_op_runs_beside_the_other_one_is_not_other_step():
    """y of this step is hidden on stream 8 in 42–50; the stray runs in 45–55, alone from 50 on."""
    trace = after_p(TraceBuilder()).kernel("y", 42, 50, call=(7, 8), stream=8).kernel("x", 60, 75, call=(30, 31))
    trace.kernel("stray", 45, 55, call=(1, 2), process=1, stream=9)

    assert between(trace) == [("launch_queue", 40, 50), ("other_step", 50, 55), ("launch_queue", 55, 60)]


@pytest.mark.parametrize("device", [0, 1], ids=["own card", "other card"])
def test_other_ops_in_the_gap_do_not_make_a_late_launch_timely(device):
    """p ended at 40 and x was called at 48, while a stray ran from 45 to 50: the host was late."""
    trace = after_p(TraceBuilder()).event_record(7, 1, at=(7, 8)).event_wait(9, 1, at=(10, 11), device=device)
    trace.kernel("stray", 45, 50, call=(1, 2), process=1, stream=8)
    trace.kernel("x", 60, 75, call=(48, 49), device=device, stream=9)

    # 5 host + 5 other + 10 launch = 20
    assert between(trace) == [("host", 40, 45), ("other_step", 45, 50), ("launch", 50, 60)]


def test_other_ops_in_the_wait_for_the_host_keep_sync_and_host_apart():
    trace = after_p(TraceBuilder()).api("cudaStreamSynchronize", 10, 44)
    trace.kernel("stray", 42, 46, call=(1, 2), process=1, stream=8).kernel("x", 60, 75, call=(50, 52))

    # 2 sync + 4 other + 4 host + 10 launch = 20
    assert between(trace) == [("sync", 40, 42), ("other_step", 42, 46), ("host", 46, 50), ("launch", 50, 60)]


def test_other_ops_before_the_first_op_and_after_the_last():
    """p's own stream was done long before the window; p is called at 105."""
    trace = TraceBuilder().range("step/0", 100, 200).kernel("early", 10, 20, call=(1, 2), thread=2)
    trace.kernel("stray", 103, 108, call=(1, 2), thread=2, stream=8).kernel("p", 120, 140, call=(105, 106))
    trace.kernel("late stray", 190, 220, call=(1, 2), thread=2, stream=8)

    # 3 host + 5 other + 12 launch + 20 p + 50 sync + 10 other = 100
    assert gaps(account(trace)) == [
        ("host", 100, 103),
        ("other_step", 103, 108),
        ("launch", 108, 120),
        ("sync", 140, 190),
        ("other_step", 190, 200),
    ]


def test_ops_of_a_step_that_runs_late_are_other_step_in_the_next():
    """z of step 0 runs in 120–160, in a gap of step 1, whose ops run in 112–118 and 170–190."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 10, 30, call=(5, 6)).kernel("z", 120, 160, call=(50, 51), stream=8)
    found = account(trace.kernel("b", 112, 118, call=(110, 111)).kernel("c", 170, 190, call=(112, 113)))

    # step 1: 6 b + 2 queue + 40 other + 10 queue + 20 c = 78 = 190 - 112
    assert gaps(found, 1) == [("launch_queue", 118, 120), ("other_step", 120, 160), ("launch_queue", 160, 170)]
    # step 0, up to b's start: 20 a + 82 sync = 102 = 112 - 10
    assert gaps(found, 0) == [("sync", 30, 112)]
