"""The dependency graph of built traces: nodes, edges and an unedited replay that is exact where latencies are."""

import numpy as np
import pytest

from stepprof.analyses.attribution import Question, attribute
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.graph.replay import held_out_error, replay, wall_of
from stepprof.analyses.graph.step_graph import EDGE_KINDS, StepGraph
from stepprof.profiler.errors import Refused
from tests.step_graphs import ends, with_durations
from tests.trace_builder import TraceBuilder

LONG = (30, 50, 40, 30)  # durations of b in four steps


def built(trace: TraceBuilder, use_edges: bool = True, question: Question | None = None) -> StepGraph:
    store = trace.store()
    return build_graph(attribute(store, question), store, use_edges=use_edges)


def links(graph: StepGraph) -> dict[tuple[str, str], tuple[str, int]]:
    """Kind and latency of each edge by the names of its ends."""
    name, e = graph.nodes.name, graph.edges
    rows = zip(e.source.tolist(), e.target.tolist(), e.kind.tolist(), e.latency.tolist(), strict=True)
    return {(name[a], name[b]): (EDGE_KINDS[kind], late) for a, b, kind, late in rows}


def one_graph_a_step(durations=LONG, extra: int | None = None, kind: str = "full") -> TraceBuilder:
    """Steps of 1,000: launch call at 10, a 100 to 120, b 122 to ..., c 3 later for 5; the host wakes 7 after c."""
    trace = TraceBuilder()
    for step, long in enumerate(durations):
        t = 1000 * step
        c = t + 122 + long + 3
        trace.range(f"step/{step}", t, c + 5 + 7 + 20)
        graph = trace.graph_launch(call=(t + 10, t + 15))
        graph.kernel("a", t + 100, t + 120, node=1).kernel("b", t + 122, c - 3, node=2).kernel("c", c, c + 5, node=3)
        if step == extra:
            trace.memset(t + 102, t + 103, call=(t + 20, t + 21), stream=9)
        trace.api("cudaStreamSynchronize", t + 30, c + 5 + 7)
    return trace.edge(1, 2).edge(2, 3, kind)


def test_a_step_of_one_graph_between_host_and_wait():
    graph = built(one_graph_a_step())
    wait = "host: to the wait before the step's end"
    found = links(graph)
    assert found.pop((wait, "host: to the step's end"))[0] == "host"  # never binds, since the host always waits
    assert found == {
        ("host: to call 0", "a"): ("launch", 90),
        ("a", "b"): ("full", 2),
        ("b", "c"): ("full", 3),
        ("host: to call 0", wait): ("host", 0),
        ("c", "host: to the step's end"): ("sync", 7),
    }
    assert graph.nodes.host.sum() == 3
    # 10 + 90 + 20 + 2 + b + 3 + 5 + 7 + 20
    assert graph.wall.tolist() == wall_of(replay(graph)).tolist() == [157 + long for long in LONG]
    assert graph.gpu_span.tolist() == [30 + long for long in LONG]
    assert held_out_error(graph).wall_max == 0
    assert np.flatnonzero(graph.heads).tolist() == [graph.nodes.name.index("host: to call 0")]


def test_a_shorter_op_shortens_the_step_until_the_host_is_what_is_waited_for():
    graph = built(one_graph_a_step())
    assert wall_of(replay(with_durations(graph, b=[10] * 4))).tolist() == [167] * 4
    # nothing runs any more: a at 100 of 0, 2, 3 and 7, then the host's 20
    assert wall_of(replay(with_durations(graph, a=[0] * 4, b=[0] * 4, c=[0] * 4))).tolist() == [132] * 4


def test_programmatic_edges_are_told_apart():
    assert links(built(one_graph_a_step(kind="programmatic")))["b", "c"] == ("programmatic", 3)


def test_without_recorded_edges_the_stream_orders_the_nodes():
    graph = built(one_graph_a_step(), use_edges=False)
    assert links(graph)["a", "b"] == ("stream", 2)
    assert links(graph)["b", "c"] == ("stream", 3)
    assert [w["count"] for w in graph.warnings if w["code"] == "edges_inferred"] == [2]


def test_steps_of_other_ops_are_left_out_and_counted():
    graph = built(one_graph_a_step(extra=1))
    assert (graph.steps, graph.left_out) == ([0, 2, 3], 1)
    assert [w["count"] for w in graph.warnings if w["code"] == "steps_unlike"] == [1]


def test_steps_that_do_not_repeat_are_refused():
    with pytest.raises(Refused, match="no two of the 2 chosen steps"):
        built(one_graph_a_step(durations=(30, 40), extra=1))


def test_chosen_steps_only():
    store = one_graph_a_step().store()
    assert build_graph(attribute(store), store, steps=[1, 2]).duration.shape[1] == 2


def eager(ahead: bool) -> TraceBuilder:
    """Two ops a step on one stream, called early (ahead) or one by one as the host gets to them."""
    trace = TraceBuilder()
    for step, host in enumerate((40, 60, 50, 40)):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 300)
        second = (t + 20, t + 22) if ahead else (t + 100 + host, t + 102 + host)
        b = t + 152 if ahead else second[0] + 15
        trace.kernel("a", t + 25, t + 150 if ahead else t + 50, call=(t + 10, t + 12))
        trace.kernel("b", b, b + 10, call=second)
    return trace


def test_an_op_launched_late_waits_for_its_call():
    graph = built(eager(ahead=False))
    assert links(graph)["host: to call 1", "b"] == ("launch", 15)
    assert graph.duration[graph.nodes.name.index("host: to call 1")].tolist() == [130, 150, 140, 130]
    assert wall_of(replay(graph)).tolist() == graph.wall.tolist() == [300] * 4
    # a faster a changes nothing, since the host is late
    faster = with_durations(graph, a=[0] * 4)
    assert ends(faster)["b"] == ends(graph)["b"]


def test_an_op_launched_ahead_follows_its_stream():
    graph = built(eager(ahead=True))
    assert links(graph)["a", "b"] == ("stream", 2)
    assert ends(with_durations(graph, a=[25] * 4))["b"] == [62] * 4


def test_an_event_ties_two_streams():
    trace = TraceBuilder()
    for step, p in enumerate((60, 70, 80)):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 200).kernel("a", t + 20, t + 40, call=(t + 1, t + 2))
        trace.kernel("p", t + 22, t + p, call=(t + 3, t + 4), stream=8).event_record(8, 1, step, at=(t + 5, t + 6))
        trace.event_wait(7, 1, step, at=(t + 9, t + 10)).kernel("c", t + p + 3, t + 90, call=(t + 11, t + 12))
    found = links(built(trace))
    assert found["p", "c"] == ("event", 3)
    assert found["a", "c"][0] == "stream"


def test_a_launch_after_a_wait_in_the_middle_of_a_step():
    """The host waits for the first graph (7 to wake), then calls the second 11 later, as a copy's length varies."""
    trace = TraceBuilder()
    for step, long in enumerate(LONG):
        t, a = 1000 * step, 1000 * step + 30 + long
        trace.range(f"step/{step}", t, t + 300)
        trace.kernel("a", t + 30, a, call=(t + 5, t + 6)).api("cudaStreamSynchronize", t + 10, a + 7)
        trace.kernel("b", a + 33, a + 40, call=(a + 18, a + 19))
    graph = built(trace)
    found = links(graph)
    assert found["a", "host: to call 1"] == ("sync", 7)
    assert found["host: to call 1", "b"] == ("launch", 15)
    # 30 + a, then 7 + 11 + 15 + 7
    assert ends(with_durations(graph, a=[100] * 4))["b"] == [170] * 4


def polled(delay: list[int]) -> TraceBuilder:
    """a, launched at 5, takes LONG; b is called `delay` after a's end. No call on record says that anybody waited."""
    trace = TraceBuilder()
    for step, (long, late) in enumerate(zip(LONG, delay, strict=True)):
        t, a = 1000 * step, 1000 * step + 30 + long
        trace.range(f"step/{step}", t, t + 400)
        trace.kernel("a", t + 30, a, call=(t + 5, t + 6))
        trace.kernel("b", a + late + 15, a + late + 25, call=(a + late, a + late + 1))
    return trace


def test_a_call_that_follows_an_ops_end_closely_waited_for_it():
    graph = built(polled(delay=[8] * len(LONG)))
    assert links(graph)["a", "host: to call 1"][0] == "sync"
    # 30 + 10 for a, then 8 + 15 + 10
    assert ends(with_durations(graph, a=[10] * len(LONG)))["b"] == [73] * len(LONG)


def test_a_call_that_comes_when_it_comes_waited_for_nothing():
    graph = built(polled(delay=[250 - long for long in LONG]))  # always 280 after the step's start
    assert ("a", "host: to call 1") not in links(graph)
    faster = ends(with_durations(graph, a=[10] * len(LONG)))
    assert faster["b"] == ends(graph)["b"]


def test_a_spin_wait_is_as_long_as_its_signal_is_late():
    """w on card 0 spins until s of card 1 has ended (4 us before it); no edge says so. Times in us."""
    trace = TraceBuilder()
    for step, late in enumerate((60, 90, 70, 110, 80)):
        t = 10_000 * step
        done = 35 + late
        rows = [
            ("a", 20, 30, 0),
            ("s", 35, done, 1),
            ("wait_flag_kernel", 31, done + 4, 0),
            ("b", done + 5, done + 25, 0),
        ]
        trace.range(f"step/{step}", 1000 * t, 1000 * (t + 1000))
        graph = trace.graph_launch(call=(1000 * (t + 5), 1000 * (t + 6)))
        for node, (name, start, end, card) in enumerate(rows, 1):
            graph.kernel(name, 1000 * (t + start), 1000 * (t + end), node=node, device=card)
    graph = built(trace.edge(1, 2).edge(1, 3).edge(3, 4))

    assert links(graph)["s", "wait_flag_kernel"] == ("inferred", 2000)
    # it always waited, so its own length is unknown: 2 of it are kept, which is what a short one takes
    assert graph.duration[graph.nodes.wait].tolist() == [[2000] * 5]
    # s of 1: 35 + 1 + 4, then b's 1 + 20
    assert ends(with_durations(graph, s=[1000] * 5))["b"] == [61_000] * 5
    assert held_out_error(graph).wall_max == 0


def test_without_marks_windows_begin_with_the_first_op():
    """Steps by period; windows are GPU ones, and calls may come before them."""
    trace = TraceBuilder()
    for step in range(6):
        t = 1000 * step + 100
        graph = trace.graph_launch(call=(t - 50, t - 45))
        for node in range(25):
            graph.kernel(f"k{node}", t + 20 * node, t + 20 * node + 15, node=node + 1)
            if step == 0 and node:
                trace.edge(node, node + 1)
        trace.memcpy("Device-to-Host", t + 510, t + 515, call=(t - 40, t - 39)).api(
            "cudaStreamSynchronize", t - 35, t + 520
        )
    graph = built(trace, question=Question(method="launches"))
    assert graph.wall.tolist()[:-1] == [1000] * (len(graph.wall) - 1)
    assert wall_of(replay(graph)).tolist() == graph.wall.tolist()
    assert graph.gpu_span.tolist() == [515] * len(graph.wall)


def test_two_processes_have_host_time_of_their_own():
    trace = TraceBuilder()
    for step, pause in enumerate((10, 20, 30)):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 500)
        trace.range(f"step/{step}", t, t + 500, process=1)
        trace.kernel("a", t + 40, t + 60, call=(t + 5, t + 6)).kernel("b", t + 70, t + 80, call=(t + 8, t + 9))
        trace.kernel("s", t + 100 + pause, t + 200, call=(t + 90 + pause, t + 91 + pause), device=1, process=1)
    graph = built(trace)
    found = {edge: what for edge, what in links(graph).items() if "launch" in what}
    assert found["host: to call 2", "s"] == ("launch", 10)
    assert not any("call 1" in a and "call 2" in b for a, b in links(graph))
    assert ("b", "s") not in links(graph)
    assert wall_of(replay(graph)).tolist() == [500] * 3


def test_a_graph_on_another_stream_follows_the_op_before_it_by_guess():
    trace = TraceBuilder()
    for step, long in enumerate(LONG):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 500).kernel("a", t + 40, t + 60 + long, call=(t + 5, t + 6))
        graph = trace.graph_launch(call=(t + 8, t + 9))
        graph.kernel("b", t + 65 + long, t + 100 + long, node=1, stream=20)
    graph = built(trace)
    at = graph.edges.target == graph.nodes.name.index("b")
    assert links(graph)["a", "b"] == ("inferred", 5)
    assert graph.edges.confidence[at].tolist() == [0.5, 1.0]


def test_replays_without_node_ids_are_laid_side_by_side_by_stream():
    """As torch.profiler has it: which branch starts first changes from step to step."""
    trace = TraceBuilder()
    for step, (b, s) in enumerate(((132, 133), (133, 132), (132, 134))):
        t = 1000 * step
        trace.range(f"step/{step}", t, t + 500).api("cudaGraphLaunch", t + 10, t + 15, correlation=900 + step)
        for name, start, end, stream in (("a", 100, 130, 7), ("b", b, 160, 7), ("s", s, 150, 8), ("j", 163, 170, 7)):
            trace.kernel(name, t + start, t + end, stream=stream, correlation=900 + step)
    graph = built(trace)
    assert (graph.left_out, graph.nodes.graph.sum()) == (0, 4)
    assert links(graph)["a", "b"][0] == links(graph)["b", "j"][0] == "stream"
    assert ("a", "s") in links(graph)
