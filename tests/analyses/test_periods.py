"""Steps without marks: whole steps and not their layers, and none where the trace proves none."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stepprof.analyses.grouping import Grouping
from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import UNKNOWN, load_ops
from stepprof.analyses.periods import by_launches, by_period
from stepprof.analyses.periods_find import find_period
from stepprof.analyses.rules import load_rules
from stepprof.analyses.sequence import Sequence
from stepprof.analyses.steps import Method, Steps, find_steps, make_steps
from tests.real_runs import run_of
from tests.trace_builder import TraceBuilder

LAYER = ["norm", "gemm", "rope", "attention", "gemm", "add", "norm", "gemm", "silu", "gemm", "add"]
TAIL = ["norm", "lm_head", "argmax"]
STEP = LAYER * 24 + TAIL  # 267 ops


class Host:
    """A host thread that launches as fast as it can: a call takes 2 ns, an op 5 ns, ops run one after another."""

    def __init__(self, trace: TraceBuilder | None = None, thread: int = 1) -> None:
        self.trace, self.thread, self.now, self.gpu, self.nodes = trace or TraceBuilder(), thread, 0, 0, 0

    def run(self, *names: str) -> Host:
        """Single ops."""
        for name in names:
            call, (start, end) = self._call(), self._op()
            self.trace.kernel(name, start, end, call=call, thread=self.thread)
        return self

    def copy(self, way: str) -> Host:
        call, (start, end) = self._call(), self._op()
        self.trace.memcpy(way, start, end, call=call, thread=self.thread)
        return self

    def replay(self, *names: str, first_node: int = 1) -> Host:
        """A graph of one node a name."""
        graph = self.trace.graph_launch(self._call(), thread=self.thread)
        for node, name in enumerate(names, first_node):
            graph.kernel(name, *self._op(), node=node)
        return self

    def sync(self) -> Host:
        """Wait for the GPU, then think for 20 ns."""
        end = max(self.now, self.gpu) + 1
        self.trace.api("cudaStreamSynchronize", self.now, end, thread=self.thread)
        self.now = end + 20
        return self

    def launches(self) -> tuple[Steps | None, str]:
        return self._found("launches")

    def period(self) -> tuple[Steps | None, str]:
        return self._found("period")

    def _found(self, method: Method) -> tuple[Steps | None, str]:
        store = self.trace.store()
        ops = load_ops(store)
        grouping, said = (by_launches if method == "launches" else by_period)(store, ops)
        return make_steps(ops, grouping) if grouping else None, said

    def _call(self) -> tuple[int, int]:
        self.now += 2
        return self.now - 2, self.now

    def _op(self) -> tuple[int, int]:
        start = max(self.now + 1, self.gpu)
        self.gpu = start + 5
        return start, self.gpu


def counts(found: tuple[Steps | None, str]) -> list[tuple[str, int]]:
    """Labels and numbers of ops; incomplete ones carry a mark."""
    steps, said = found
    assert steps is not None, said
    marks = ["?" if "incomplete" in flags else "" for flags in steps.flags]
    return [(label + m, int(n)) for label, m, n in zip(steps.label, marks, steps.windows.ops, strict=True)]


def numbered(method: str, count: int, ops: int) -> list[tuple[str, int]]:
    return [(f"{method}/{i}", ops) for i in range(count)]


# ---- by the period of op names


def test_a_step_is_all_its_layers_and_its_tail():
    host = Host()
    for _ in range(5):
        host.run(*STEP).sync()
    steps, said = host.period()
    assert counts((steps, said)) == numbered("period", 5, 267)
    assert said == "1335 op names repeat with period 267 (100%)"
    assert steps is not None and steps.confidence == pytest.approx(1 - 1 / 16)
    assert not steps.windows.host.any() and set(steps.windows.host_start) == {UNKNOWN}


def test_a_wait_in_every_layer_does_not_make_layers_steps():
    host = Host()
    for _ in range(4):
        for _ in range(24):
            host.run(*LAYER).copy("Device-to-Host").sync()
        host.run(*TAIL).copy("Device-to-Host").sync()
    assert counts(host.period()) == numbered("period", 4, 24 * 12 + 4)


def test_a_tail_short_beside_its_layers_is_enough():
    host, layer = Host(), [f"op{i % 37}" for i in range(100)]
    for _ in range(4):
        for _ in range(6):
            host.run(*layer).sync()
        host.run(*TAIL).sync()
    assert counts(host.period()) == numbered("period", 4, 603)


@pytest.mark.parametrize("at", [0, 1, 130, 266, 267])
def test_one_op_more_in_one_step(at):
    host = Host()
    for i in range(5):
        host.run(*([*STEP[:at], "odd", *STEP[at:]] if i == 2 else STEP)).sync()
    expected = numbered("period", 5, 267)
    expected[2] = ("period/2", 268)
    assert counts(host.period()) == expected


def test_one_op_less_and_another_name_in_one_step():
    host = Host()
    for i in range(5):
        host.run(*{1: STEP[:40] + STEP[41:], 3: [*STEP[:60], "odd", *STEP[61:]]}.get(i, STEP)).sync()
    assert [n for _, n in counts(host.period())] == [267, 266, 267, 267, 267]


def test_a_step_begins_behind_the_wait():
    host = Host()
    for _ in range(4):
        host.run(*STEP[100:]).sync().run(*STEP[:100])
    steps, said = host.period()
    assert counts((steps, said)) == [("before?", 167), *numbered("period", 3, 267), ("after?", 100)]


def test_without_a_wait_a_step_begins_behind_the_longest_gap():
    host = Host()
    for _ in range(4):
        host.run(*LAYER).copy("Device-to-Host").now += 300
        host.run(*LAYER, *TAIL)
    assert counts(host.period()) == [("before?", 12), *numbered("period", 3, 26), ("after?", 14)]


def test_warm_up_and_a_cut_off_tail_are_listed():
    host = Host().run(*[f"init{i}" for i in range(50)])
    for _ in range(3):
        host.run(*STEP).sync()
    host.run(*STEP[:100])
    assert counts(host.period()) == [("before?", 50), *numbered("period", 3, 267), ("after?", 100)]


def test_what_is_little_beside_a_step_is_left_out():
    host = Host().run("init")
    for _ in range(3):
        host.run(*STEP).sync()
    steps, said = host.run("last").period()
    assert counts((steps, said)) == numbered("period", 3, 267)
    assert steps is not None and np.flatnonzero(steps.of_op == UNKNOWN).tolist() == [0, 802]


def test_a_prefill_between_steps_is_a_part_of_its_own():
    host = Host()
    for i in range(7):
        host.run(*STEP).sync() if i != 3 else host.run(*["prefill", "gemm", "norm", "long"] * 99).sync()
    found = counts(host.period())
    assert found == [*numbered("period", 6, 267)[:3], ("between?", 396), *numbered("period", 6, 267)[3:]]


def test_the_warm_up_may_run_without_waits():
    host = Host().run(*STEP, *STEP)
    for _ in range(3):
        host.run(*STEP).sync()
    assert counts(host.period()) == numbered("period", 5, 267)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (Host(), "the sequence of 0 op names does not repeat 3 times"),
        (Host().run("a"), "the sequence of 1 op names does not repeat 3 times"),
        (Host().run(*LAYER * 30, *TAIL).sync(), "period 11, but no wait of the host for results"),
        (Host().run(*STEP).sync().run(*STEP).sync(), "period 11, but no wait of the host for results"),
        (Host().run(*STEP * 4), "period 267, but no wait of the host for results"),
        (Host().run("gemm").sync().run("gemm").sync().run("gemm").sync(), "but 1 ops are no decode step"),
    ],
    ids=["no ops", "one op", "one prefill", "two steps", "no wait", "a loop around one kernel"],
)
def test_no_steps_without_proof(host: Host, said: str):
    steps, why = host.period()
    assert steps is None and said in why


def test_waits_behind_copies_to_the_device_prove_nothing():
    host = Host()
    for _ in range(30):
        host.run(*LAYER).copy("Host-to-Device").sync()
    steps, why = host.period()
    assert steps is None and "no wait of the host" in why
    host.trace.api("cudaDeviceSynchronize", host.now, host.now + 1)
    assert host.period()[0] is None


def test_the_busiest_thread_speaks():
    trace = TraceBuilder()
    main, other = Host(trace), Host(trace, thread=2)
    for _ in range(3):
        main.run(*STEP).sync()
        other.run("side")
    steps, said = main.period()
    assert counts((steps, said)) == numbered("period", 3, 267)
    assert steps is not None and int(np.sum(steps.of_op == UNKNOWN)) == 3


def test_random_ops_have_no_period():
    rng = np.random.default_rng(0)
    everywhere, n = np.ones(50_000, bool), 50_000
    seq = Sequence(rng.integers(0, 60, n), everywhere, everywhere, ~everywhere, rng.integers(0, 9, n))
    assert find_period(seq)[0] is None


# ---- by the period of graph launches


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


# ---- the order of methods


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


def test_steps_hold_the_same_ops():
    host = Host()
    for _ in range(4):
        host.run(*STEP).copy("Device-to-Host").sync()
    steps, _ = host.period()
    assert steps is not None
    ops = load_ops(host.trace.store())
    bags = [Counter(ops.name[steps.of_op == i].tolist()) for i in range(4)]
    assert all(bag == bags[0] for bag in bags)


def test_grouping_says_which_steps_are_incomplete():
    host = Host().run(*[f"init{i}" for i in range(50)])
    for _ in range(3):
        host.run(*STEP).sync()
    store = host.trace.store()
    grouping, _ = by_period(store, load_ops(store))
    assert isinstance(grouping, Grouping) and grouping.incomplete == (0,)
    assert grouping.phase == [None] * 4


# ---- real captures


@pytest.mark.parametrize(
    ("name", "method", "steps", "ops", "before"),
    [
        ("h200x2_overlap", "launches", 11, 1378, 0),
        ("h200x2_graph", "launches", 11, 1294, 0),
        ("h200x2_graph", "period", 11, 1294, 4272),
        ("h200x2_eager", "period", 11, 1294, 388),
        ("h200_hf_deepseek_compile", "launches", 9, 315, 0),
        ("h200_hf_deepseek_compile", "period", 8, 315, 1757),
        ("h200_hf_deepseek_eager", "period", 10, 984, 1124),
    ],
)
def test_real_steps(name: str, method: Method, steps: int, ops: int, before: int):
    store = run_of(f"{name}.sqlite")
    grouping, said = (by_launches if method == "launches" else by_period)(store, found := load_ops(store))
    assert grouping is not None, said
    listed = counts((make_steps(found, grouping), said))
    if name == "h200_hf_deepseek_compile" and method == "launches":
        ops_of_last = listed.pop()[1]  # no next step lends it its first two ops
        assert ops_of_last == ops - 2
        steps -= 1
    assert listed == [*([("before?", before)] if before else []), *numbered(method, steps, ops)]


@pytest.mark.parametrize(("name", "method"), [("h200x2_eager", "period"), ("h200_hf_deepseek_eager", "period")])
def test_steps_by_period_are_the_marked_ones(name: str, method: Method):
    store, rules = run_of(f"{name}.sqlite"), load_rules()
    ops, ranges = load_ops(store), load_ranges(store, rules)
    marked, _ = find_steps(store, ops, ranges, rules)
    period, _ = find_steps(store, ops, ranges, rules, method=method)
    assert marked is not None and period is not None
    for i in range(len(marked)):
        (step,) = set(period.of_op[marked.of_op == i].tolist())
        assert np.array_equal(period.of_op == step, marked.of_op == i)


@pytest.mark.parametrize(
    "name",
    ["nsysai_h100_2gpu_1s", "nsysai_mfu_2gpu_before", "nsysai_mock", "fuser_report1", "lighttransport_gemm_profile"],
)
def test_public_traces_that_prove_no_step(name: str):
    store = run_of(f"public/{name}.sqlite")
    for find in (by_launches, by_period):
        assert find(store, load_ops(store))[0] is None
