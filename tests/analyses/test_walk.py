"""The walk back along dependencies: which op the path gives each ns of a window to."""

import pytest

from stepprof.analyses.attribution import Attribution, attribute
from tests.analyses.accounts import account, exposed, gaps, on_path, waited_for
from tests.trace_builder import GraphLaunch, TraceBuilder


def step_graph() -> tuple[TraceBuilder, GraphLaunch]:
    """One step of 100 ns with one graph launch, called from 10 to 15."""
    trace = TraceBuilder().range("step/0", 0, 100)
    return trace, trace.graph_launch(call=(10, 15))


def total(found: Attribution, step: int = 0) -> int:
    return sum(end - start for _, start, end in on_path(found, step) + gaps(found, step))


def test_a_serial_chain_in_a_graph():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 32, 50, node=2).kernel("c", 50, 70, node=3)
    found = account(trace.edge(1, 2).edge(2, 3))

    # 10 host + 10 launch + 10 a + 2 in graph + 18 b + 20 c + 30 sync = 100
    assert on_path(found) == [("a", 20, 30), ("b", 32, 50), ("c", 50, 70)]
    assert gaps(found) == [("host", 0, 10), ("launch", 10, 20), ("in_graph", 30, 32), ("sync", 70, 100)]
    assert waited_for(found) == {"a": None, "b": ("a", "recorded"), "c": ("b", "recorded")}


@pytest.mark.parametrize(("b_end", "longer"), [(60, "b"), (40, "c")], ids=["first branch longer", "second longer"])
def test_at_a_join_the_branch_that_ends_last_is_on_the_path(b_end, longer):
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 30, b_end, node=2).kernel("c", 31, 50, node=3)
    graph.kernel("d", 62, 70, node=4)
    found = account(trace.edge(1, 2).edge(1, 3).edge(2, 4).edge(3, 4))

    # b: 10 a + 30 b + 2 + 8 d; c: 10 a + 1 + 19 c + 12 + 8 d; both 50
    shorter = {"b": "c", "c": "b"}[longer]
    assert exposed(found) == {"a": 10, longer: {"b": 30, "c": 19}[longer], shorter: 0, "d": 8}
    assert gaps(found)[2:-1] == {"b": [("in_graph", 60, 62)], "c": [("in_graph", 30, 31), ("in_graph", 50, 62)]}[longer]
    assert total(found) == 100


def test_a_branch_that_ends_last_but_is_not_waited_for_is_hidden():
    """c ends after everything d depends on, and d does not depend on it."""
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 30, 40, node=2).kernel("c", 30, 55, node=3)
    graph.kernel("d", 57, 70, node=4)
    found = account(trace.edge(1, 2).edge(1, 3).edge(2, 4))

    assert exposed(found) == {"a": 10, "b": 10, "c": 0, "d": 13}
    assert ("in_graph", 40, 57) in gaps(found)


def test_a_sidecar_chain_on_the_path_with_its_waits():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("main", 30, 45, node=4).kernel("join", 64, 70, node=5)
    graph.kernel("in", 33, 40, node=2, device=1).kernel("expert", 40, 60, node=3, device=1)
    found = account(trace.edge(1, 2).edge(2, 3).edge(1, 4).edge(4, 5).edge(3, 5))

    # 10 + 10 + 10 a + 3 wait + 7 in + 20 expert + 4 wait + 6 join + 30 = 100
    assert on_path(found) == [("a", 20, 30), ("in", 33, 40), ("expert", 40, 60), ("join", 64, 70)]
    assert gaps(found)[2:-1] == [("sidecar_wait", 30, 33), ("sidecar_wait", 60, 64)]
    assert exposed(found)["main"] == 0


def test_the_main_card_hides_a_faster_sidecar():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("main", 30, 62, node=3).kernel("join", 64, 70, node=4)
    graph.kernel("expert", 33, 60, node=2, device=1)
    found = account(trace.edge(1, 2).edge(1, 3).edge(2, 4).edge(3, 4))

    assert exposed(found) == {"a": 10, "main": 32, "expert": 0, "join": 6}
    assert gaps(found)[2:-1] == [("in_graph", 62, 64)]


@pytest.mark.parametrize("kind", ["programmatic", "full"])
def test_an_op_that_started_before_its_dependency_ended_counts_from_that_end_on(kind):
    trace, graph = step_graph()
    graph.kernel("a", 20, 40, node=1).kernel("b", 35, 60, node=2)
    found = account(trace.edge(1, 2, kind))

    # 20 before + 20 a + 20 b (5 of its 25 overlap) + 40 sync = 100
    assert on_path(found) == [("a", 20, 40), ("b", 40, 60)]
    assert found.deps.programmatic.tolist() == [False, kind == "programmatic"]
    assert total(found) == 100


def test_an_op_inside_the_time_of_its_dependency_has_no_share():
    trace, graph = step_graph()
    graph.kernel("a", 20, 60, node=1).kernel("b", 30, 50, node=2)
    found = account(trace.edge(1, 2))

    assert exposed(found) == {"a": 40, "b": 0}
    assert total(found) == 100


def test_nodes_that_never_run_are_contracted():
    """Nodes 8 and 9 are an event and an empty node: a → 8 → 9 → b, and c → 9."""
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("c", 20, 36, node=3, device=1).kernel("b", 40, 60, node=2)
    found = account(trace.edge(1, 8).edge(8, 9).edge(9, 2).edge(3, 9))

    assert waited_for(found)["b"] == ("c", "recorded")
    assert exposed(found) == {"a": 0, "b": 20, "c": 16}


def test_a_path_through_an_absent_node_is_no_programmatic_edge():
    trace, graph = step_graph()
    graph.kernel("a", 20, 40, node=1).kernel("b", 35, 60, node=2)
    found = account(trace.edge(1, 9, "programmatic").edge(9, 2, "programmatic"))

    assert waited_for(found)["b"] == ("a", "recorded")
    assert not found.deps.programmatic.any()


def test_edges_that_the_times_contradict_are_counted_and_not_followed():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 32, 50, node=2)
    found = account(trace.edge(1, 2).edge(2, 1))

    assert on_path(found) == [("a", 20, 30), ("b", 32, 50)]
    assert [(w["code"], w["count"]) for w in found.warnings] == [("edge_contradicted", 1)]


def test_an_edge_holds_in_every_replay_and_in_no_other():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.graph_launch(call=(1, 2)).kernel("a0", 10, 20, node=1).kernel("b0", 21, 30, node=2)
    trace.graph_launch(call=(3, 4)).kernel("a1", 50, 60, node=1).kernel("b1", 61, 70, node=2)
    found = account(trace.edge(1, 2))

    assert waited_for(found) == {
        "a0": None,
        "b0": ("a0", "recorded"),
        "a1": ("b0", "ordered"),
        "b1": ("a1", "recorded"),
    }


def test_without_edges_an_op_waits_for_its_cards_previous_op():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 32, 50, node=2).kernel("c", 52, 70, node=3)
    found = account(trace)

    assert waited_for(found) == {"a": None, "b": ("a", "inferred"), "c": ("b", "inferred")}
    assert gaps(found)[2:-1] == [("in_graph", 30, 32), ("in_graph", 50, 52)]


@pytest.mark.parametrize(
    ("d_start", "waits_for"),
    [(54, "c"), (55, "s")],
    ids=["idle for twice the median gap", "idle for longer"],
)
def test_another_card_is_inferred_only_after_more_than_twice_the_median_gap(d_start, waits_for):
    """Gaps on card 0: 2 and 2 and d's own, so the median is 2; s ends at 53 on card 1."""
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 32, 40, node=2).kernel("c", 42, 50, node=3)
    graph.kernel("s", 51, 53, node=4, device=1).kernel("d", d_start, 70, node=5)
    found = account(trace)

    assert waited_for(found)["d"] == (waits_for, "inferred")
    # c: 4 in graph; s: 1 to it, 2 s, 2 back
    after_c = {"c": [("in_graph", 50, 54)], "s": [("sidecar_wait", 50, 51), ("sidecar_wait", 53, 55)]}
    assert gaps(found)[4:-1] == after_c[waits_for]


def test_use_edges_false_infers_what_is_recorded():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 32, 50, node=2)

    found = attribute(trace.edge(1, 2).store(), use_edges=False)
    assert waited_for(found)["b"] == ("a", "inferred")


def test_an_unassigned_op_on_the_path_is_other_step():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 30, call=(5, 6)).kernel("stray", 30, 50, call=(7, 8), process=1)
    found = account(trace.kernel("b", 50, 70, call=(9, 10)))

    # 5 host + 15 launch + 10 a + 20 other + 20 b + 30 sync = 100
    assert on_path(found) == [("a", 20, 30), ("b", 50, 70)]
    assert gaps(found)[2:-1] == [("other_step", 30, 50)]
    assert exposed(found)["stray"] == 0


def test_an_op_of_another_step_on_the_path_is_other_step():
    """Step 1's c waits, by event, for z of step 0, which runs late."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 10, 30, call=(5, 6)).kernel("z", 120, 160, call=(50, 51), stream=8)
    trace.event_record(8, 1, at=(60, 61)).kernel("b", 112, 118, call=(105, 106)).event_wait(7, 1, at=(107, 108))
    found = account(trace.kernel("c", 170, 190, call=(110, 111)))

    # step 1: 6 b + 2 queue before z + 40 z + 10 queue + 20 c = 78 = 190 - 112
    assert on_path(found, 1) == [("b", 112, 118), ("c", 170, 190)]
    assert gaps(found, 1) == [("launch_queue", 118, 120), ("other_step", 120, 160), ("launch_queue", 160, 170)]


def test_an_op_over_the_windows_start_is_clipped():
    trace = TraceBuilder().range("step/0", 100, 200)
    trace.kernel("stray", 90, 130, call=(50, 51)).kernel("b", 130, 150, call=(105, 106))
    found = account(trace)

    # 30 of the stray's 40 + 20 b + 50 sync = 100
    assert on_path(found) == [("b", 130, 150)]
    assert gaps(found) == [("other_step", 100, 130), ("sync", 150, 200)]


def test_an_op_over_the_windows_end_is_clipped():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 20, 40, call=(5, 6)).kernel("z", 60, 140, call=(50, 51), stream=8)
    found = account(trace.kernel("b", 110, 120, call=(101, 102)))

    # step 0, from 20 to b's start: 20 a + 10 host + 10 launch + 50 of z's 80 = 90
    assert on_path(found) == [("a", 20, 40), ("z", 60, 110)]
    assert gaps(found) == [("host", 40, 50), ("launch", 50, 60)]
    assert found.steps.flags == [["clipped"], []]
    assert on_path(found, 1) == [("b", 110, 120)]


def test_an_own_op_that_starts_as_the_window_ends_is_not_its_last():
    """z of step 0 starts at 110, with step 1's first op, and follows y on its stream."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 20, 60, call=(5, 6)).kernel("y", 22, 25, call=(7, 8), stream=8)
    trace.kernel("z", 110, 120, call=(9, 10), stream=8).kernel("b", 110, 130, call=(101, 102))
    found = account(trace)

    # 40 a + 50 sync = 90 = 110 - 20
    assert (on_path(found), gaps(found)) == ([("a", 20, 60)], [("sync", 60, 110)])


def test_a_step_without_ops_is_one_gap():
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    found = account(trace.kernel("a", 20, 40, call=(5, 6)))

    assert on_path(found, 1) == []
    assert [piece[1:] for piece in gaps(found, 1)] == [(100, 200)]


def test_windows_of_length_zero_hold_nothing():
    """step/1 has no length on the host; step/2's only op has none, and it runs after its range."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 100).range("step/2", 101, 110)
    trace.kernel("a", 20, 40, call=(5, 6)).kernel("z", 120, 120, call=(105, 106))
    found = account(trace)

    assert found.steps.wall.tolist() == [100, 0, 0]
    assert [total(found, step) for step in range(3)] == [100, 0, 0]


@pytest.mark.parametrize("edges", [True, False], ids=["recorded edges", "inferred edges"])
def test_an_op_without_length_keeps_its_place_in_a_graph(edges):
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("z", 30, 30, node=2).kernel("b", 32, 40, node=3)
    found = account(trace.edge(1, 2).edge(2, 3) if edges else trace)

    # 10 + 10 + 10 a + 0 z + 2 + 8 b + 60 = 100
    assert exposed(found) == {"a": 10, "z": 0, "b": 8}
    assert gaps(found) == [("host", 0, 10), ("launch", 10, 20), ("in_graph", 30, 32), ("sync", 40, 100)]


def test_ops_without_length_at_one_time_do_not_lose_each_other():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1)
    for node in (2, 3, 4):
        graph.kernel(f"z{node}", 31, 31, node=node)
    found = account(trace)

    assert exposed(found)["a"] == 10
    assert gaps(found) == [("host", 0, 10), ("launch", 10, 20), ("in_graph", 30, 31), ("sync", 31, 100)]


def test_an_op_without_length_first_on_its_stream_waits_for_what_ended_last():
    trace = TraceBuilder().range("step/0", 0, 100)
    found = account(trace.kernel("a", 20, 40, call=(1, 2)).kernel("z", 50, 50, call=(3, 4), stream=8))

    assert waited_for(found)["z"] == ("a", "inferred")


def test_of_two_dependencies_that_end_together_one_is_on_the_path():
    trace, graph = step_graph()
    graph.kernel("a", 20, 30, node=1).kernel("b", 20, 30, node=2, device=1).kernel("c", 30, 40, node=3)
    found = account(trace.edge(1, 3).edge(2, 3))

    # 20 before + 10 a or b + 10 c + 60 = 100
    assert sorted(exposed(found).values()) == [0, 10, 10]
    assert exposed(found)["c"] == 10


def test_of_two_last_ops_that_end_together_one_is_on_the_path():
    trace = TraceBuilder().range("step/0", 0, 100)
    trace.kernel("a", 20, 30, call=(1, 2)).kernel("b", 25, 30, call=(3, 4), stream=8)
    found = account(trace)

    assert total(found) == 100
    assert sum(exposed(found).values()) in (10, 5)
