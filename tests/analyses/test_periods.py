"""Steps without marks: whole steps and not their layers, and none where the trace proves none."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from stepprof.analyses.ops import UNKNOWN, load_ops
from stepprof.analyses.periods import by_period
from stepprof.analyses.periods_find import find_period
from stepprof.analyses.sequence import Sequence
from tests.host_thread import LAYER, STEP, TAIL, Host, counts, numbered
from tests.trace_builder import TraceBuilder


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
    assert grouping is not None and grouping.incomplete == (0,)
    assert grouping.phase == [None] * 4
