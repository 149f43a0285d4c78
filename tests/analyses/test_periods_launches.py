"""Steps by graph launches: one graph, one a layer, draft and verify; and which method comes first."""

from __future__ import annotations

import pytest

from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import load_ops
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import Method, find_steps
from tests.host_thread import LAYER, STEP, TAIL, Host, counts, numbered


def test_one_graph_a_step():
    host = Host().run("init")
    for _ in range(4):
        host.replay(*STEP).sync()
    steps, said = host.launches()
    assert counts((steps, said)) == numbered("launches", 4, 267)
    assert said == "4 graph launches repeat with period 1 (100%)"


@pytest.mark.parametrize("same", [True, False], ids=["equal pieces", "pieces told apart by their nodes"])
def test_a_graph_for_each_layer(same: bool):
    host = Host()
    for _ in range(3):
        for layer in range(80):
            host.replay(*LAYER, first_node=1 if same else 20 * layer).run("attention")
        host.run(*TAIL).sync()
    assert counts(host.launches()) == numbered("launches", 3, 80 * 12 + 3)


def test_draft_and_verify_alternate():
    host = Host()
    for _ in range(4):
        host.copy("Host-to-Device").replay(*LAYER).run("sample").replay(*STEP, first_node=50).run("accept").sync()
    steps, said = host.launches()
    # the copy is called before the first graph of a step, so with the step before
    assert counts((steps, said)) == [*numbered("launches", 4, 11 + 1 + 267 + 1 + 1)[:3], ("launches/3", 280)]
    assert said == "8 graph launches repeat with period 2 (100%)"


def test_two_captures_of_one_graph_that_take_turns_are_one_step_each():
    host = Host()
    for i in range(6):
        host.replay(*LAYER, first_node=1 + 50 * (i % 2)).sync()
    assert counts(host.launches()) == numbered("launches", 6, 11)


def test_graphs_that_lost_ops_or_were_cut_off_are_no_whole_steps():
    host = Host()
    for i in range(6):
        host.replay(*(LAYER[:5] if i == 4 else LAYER)).sync()
    assert counts(host.launches()) == [
        *numbered("launches", 4, 11),
        ("between?", 5),
        ("launches/4", 11),
    ]
    host = Host()
    for _ in range(3):
        host.replay(*LAYER).replay(*TAIL, first_node=50).sync()
    assert counts(host.replay(*LAYER).launches()) == [*numbered("launches", 3, 14), ("after?", 11)]


def test_the_last_step_takes_no_more_single_ops_than_others():
    host = Host()
    for _ in range(3):
        host.replay(*LAYER).run("sample").sync()
    steps, said = host.run(*STEP).launches()
    assert counts((steps, said)) == numbered("launches", 3, 12)


def test_without_any_wait_graph_launches_convince_half():
    host = Host()
    for _ in range(5):
        host.replay(*LAYER)
    steps, said = host.launches()
    assert counts((steps, said)) == numbered("launches", 5, 11)
    assert steps is not None and steps.confidence == pytest.approx((1 - 1 / 16) / 2)


def test_no_repeating_launches():
    assert Host().run("a").launches() == (None, "no graph launch has both a call and ops on record")
    twice = Host().replay("a", "b").sync().replay("a", "b").sync()
    assert twice.launches() == (None, "the sequence of 2 graph launches does not repeat 3 times")


def graphs_and_marks() -> Host:
    host = Host()
    for i in range(4):
        start = host.now
        host.replay(*STEP).sync()
        host.trace.range(f"step/{i}" if i else "warm-up", start, host.now)
    return host


@pytest.mark.parametrize(
    ("marker", "method", "expected"),
    [
        (None, None, ("marker stepprof", 3)),
        (None, "launches", ("launches", 4)),
        (None, "period", None),
        ("warm", None, ("marker --marker warm", 1)),
        ("absent", None, None),
    ],
)
def test_marks_come_first_and_a_forced_method_stands_alone(marker: str | None, method: Method | None, expected):
    store = graphs_and_marks().trace.store()
    steps, tried = find_steps(store, load_ops(store), load_ranges(store, load_rules()), load_rules(), marker, method)
    if expected is None and method != "period":
        assert (steps, tried) == (None, ["no range matches --marker absent"])
    elif expected is not None:
        assert steps is not None and (steps.method, len(steps)) == expected


def test_without_marks_launches_come_before_names():
    host = Host()
    for _ in range(4):
        host.run(*STEP).sync()
    store = host.trace.store()
    steps, tried = find_steps(store, load_ops(store), load_ranges(store, load_rules()), load_rules())
    assert steps is not None and (steps.method, len(steps)) == ("period", 4)
    assert tried == [
        "no range matches a step marker",
        "no graph launch has both a call and ops on record",
        "1068 op names repeat with period 267 (100%)",
    ]
