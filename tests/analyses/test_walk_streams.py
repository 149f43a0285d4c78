"""The walk outside graphs: streams, event waits, synchronizing calls, and first nodes of graphs."""

import pytest

from tests.analyses.accounts import account, exposed, gaps, on_path, waited_for
from tests.trace_builder import TraceBuilder


def test_ops_of_a_stream_follow_each_other():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 30, call=(1, 2)).kernel("b", 40, 60, call=(3, 4), stream=8)
    found = account(trace.kernel("c", 70, 80, call=(5, 6)))

    # c waits for a, on its stream; b, on another, is hidden: 1 + 19 + 10 a + 40 + 10 c + 20 = 100
    assert exposed(found) == {"a": 10, "b": 0, "c": 10}
    assert gaps(found) == [("host", 0, 1), ("launch", 1, 20), ("launch_queue", 30, 70), ("sync", 80, 100)]


def test_overlap_on_a_stream_counts_from_the_earlier_ones_end_on():
    trace = TraceBuilder().range("step/0", 0, 100)
    found = account(trace.kernel("a", 20, 40, call=(1, 2)).kernel("b", 35, 60, call=(3, 4)))

    assert on_path(found) == [("a", 20, 40), ("b", 40, 60)]
    assert waited_for(found)["b"] == ("a", "ordered")


@pytest.mark.parametrize("place", [{"context": 9}, {"device": 1}, {"process": 1}], ids=lambda p: next(iter(p)))
def test_equal_stream_numbers_elsewhere_are_other_streams(place):
    """Stream 7 in another context, card or process: c waits for a, not for b."""
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 30, call=(1, 2)).kernel("b", 31, 60, call=(3, 4), **place)
    found = account(trace.kernel("c", 70, 80, call=(5, 6)))

    assert waited_for(found)["c"] == ("a", "ordered")


@pytest.mark.parametrize("sync_id", [5, None], ids=["numbered records", "by event only"])
def test_an_event_wait_ties_two_streams(sync_id):
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 40, call=(1, 2)).kernel("p", 22, 60, call=(3, 4), stream=8)
    trace.event_record(8, 1, sync_id, at=(5, 6)).kernel("q", 60, 62, call=(7, 8), stream=8)
    trace.event_wait(7, 1, sync_id, at=(9, 10))
    found = account(trace.kernel("c", 63, 70, call=(11, 12)))

    # p was before the record, q was not: 3 host + 19 launch + 38 p + 3 queue + 7 c + 30 sync = 100
    assert waited_for(found)["c"] == ("p", "ordered")
    assert exposed(found) == {"a": 0, "p": 38, "q": 0, "c": 7}
    assert gaps(found) == [("host", 0, 3), ("launch", 3, 22), ("launch_queue", 60, 63), ("sync", 70, 100)]


def test_without_numbers_a_wait_means_the_latest_record_before_it():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("p", 20, 30, call=(1, 2), stream=8).event_record(8, 1, at=(3, 4))
    trace.kernel("q", 31, 40, call=(5, 6), stream=8).event_record(8, 1, at=(7, 8))
    trace.event_wait(7, 1, at=(9, 10)).kernel("c", 63, 70, call=(11, 12))
    trace.kernel("r", 41, 50, call=(13, 14), stream=8).event_record(8, 1, at=(15, 16))

    assert waited_for(account(trace))["c"] == ("q", "ordered")


def test_a_launch_after_a_synchronizing_call_follows_what_that_waited_for():
    """b's own stream was done at 25, but its thread waited for a until 45."""
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 40, call=(1, 2)).kernel("early", 21, 25, call=(3, 4), stream=8)
    trace.api("cudaStreamSynchronize", 10, 45)
    found = account(trace.kernel("b", 60, 70, call=(50, 52), stream=8))

    # 1 host + 19 launch + 20 a + 5 sync + 5 host + 10 launch + 10 b + 30 sync = 100
    assert waited_for(found)["b"] == ("a", "ordered")
    assert on_path(found) == [("a", 20, 40), ("b", 60, 70)]
    assert gaps(found)[2:] == [("sync", 40, 45), ("host", 45, 50), ("launch", 50, 60), ("sync", 70, 100)]


def test_with_nothing_known_the_op_that_ended_last_is_inferred():
    trace = TraceBuilder().range("step/0", 0, 100)
    found = account(trace.kernel("a", 20, 40, call=(1, 2)).kernel("b", 42, 60, call=(3, 4), stream=8))

    assert waited_for(found)["b"] == ("a", "inferred")


def test_a_graph_is_over_when_its_last_op_is():
    """The second graph heads on card 0; the first one's last op ran on card 1."""
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.graph_launch(call=(1, 2)).kernel("a", 20, 30, node=1).kernel("s", 25, 50, node=2, device=1)
    trace.graph_launch(call=(3, 4)).kernel("b", 55, 60, node=3)
    found = account(trace.edge(1, 2))

    assert waited_for(found)["b"] == ("s", "ordered")
    # 1 + 19 + 10 a (until s counts, 30 on) + 20 s + 5 + 5 b + 40 = 100
    assert exposed(found) == {"a": 10, "s": 20, "b": 5}


def test_ops_of_one_call_follow_each_other_on_their_stream():
    """A copy in two pieces under one correlation, no graph."""
    trace = TraceBuilder().range("step/0", 0, 100).kernel("p", 20, 40, call=(1, 2))
    trace.api("cudaMemcpyAsync", 3, 4, correlation=99)
    trace.memcpy("Host-to-Device", 42, 50, correlation=99).memcpy("Host-to-Device", 52, 60, correlation=99)
    found = account(trace)

    # 1 + 19 + 20 p + 2 + 8 + 2 + 8 + 40 = 100
    copy = "[CUDA memcpy Host-to-Device]"
    assert on_path(found) == [("p", 20, 40), (copy, 42, 50), (copy, 52, 60)]
    assert gaps(found)[2:-1] == [("launch_queue", 40, 42), ("launch_queue", 50, 52)]


def two_roots(trace: TraceBuilder) -> TraceBuilder:
    """A graph whose first nodes are r on card 0 and s on card 1, joined by j."""
    graph = trace.graph_launch(call=(15, 16)).kernel("r", 63, 64, node=1).kernel("s", 64, 80, node=2, device=1)
    graph.kernel("j", 82, 90, node=3)
    return trace.edge(1, 3).edge(2, 3)


def test_all_first_nodes_of_a_graph_follow_the_launch_before_it():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("old", 1, 2, call=(0, 1), device=1)
    found = account(two_roots(trace.kernel("p", 20, 60, call=(3, 4))))

    assert waited_for(found)["s"] == waited_for(found)["r"] == ("p", "ordered")
    # 1 + 1 old + 1 host + 17 launch + 40 p + 4 wait + 16 s + 2 wait + 8 j + 10 = 100
    assert gaps(found)[3:] == [("sidecar_wait", 60, 64), ("sidecar_wait", 80, 82), ("sync", 90, 100)]


def test_all_first_nodes_of_a_graph_wait_for_its_streams_event():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("old", 1, 2, call=(0, 1), device=1)
    trace.kernel("a", 3, 30, call=(3, 4)).kernel("p", 20, 60, call=(5, 6), stream=8)
    found = account(two_roots(trace.event_record(8, 1, at=(7, 8)).event_wait(7, 1, at=(9, 10))))

    assert waited_for(found)["s"] == waited_for(found)["r"] == ("p", "ordered")


def test_a_copy_out_after_polling_follows_the_graph_that_was_polled_for():
    """The host asks for an event until the graph is done, then copies on a stream of its own."""
    trace = TraceBuilder().range("step/0", 0, 200).kernel("old", 0, 2, stream=9, call=(0, 1))
    trace.graph_launch(call=(5, 8)).kernel("a", 20, 60, node=1).kernel("b", 60, 100, node=2)
    trace.edge(1, 2).api("cudaEventQuery", 10, 12).api("cudaEventQuery", 50, 52).api("cudaEventQuery", 99, 102)
    found = account(trace.memcpy("Device-to-Host", 120, 130, stream=9, call=(110, 112)))

    # 2 old + 3 host + 15 launch + 40 a + 40 b + 2 sync + 8 host + 10 launch + 10 copy + 70 sync = 200
    assert [name for name, *_ in on_path(found)][-3:] == ["a", "b", "[CUDA memcpy Device-to-Host]"]
    assert gaps(found)[-4:] == [("sync", 100, 102), ("host", 102, 110), ("launch", 110, 120), ("sync", 130, 200)]


def test_a_late_launch_follows_the_last_op_of_its_thread_even_if_no_wait_is_on_record():
    """x's own stream ended at 30; y of the same thread ran until 70, x is called at 80: 10 host, no more."""
    trace = TraceBuilder().range("step/0", 0, 200).kernel("w", 20, 30, call=(5, 6))
    found = account(trace.kernel("y", 40, 70, stream=8, call=(8, 9)).kernel("x", 90, 100, call=(80, 82)))

    assert on_path(found)[-2:] == [("y", 40, 70), ("x", 90, 100)]
    assert ("host", 70, 80) in gaps(found)
