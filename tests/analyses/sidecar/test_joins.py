"""Where the main card waits for a call, and for how long."""

import numpy as np
import pytest

from stepprof.analyses.ops import UNKNOWN
from tests.analyses.sidecar.sidecar_program import FIRST, Program, two_sidecars


def one_call(edges: bool, hot: int) -> Program:
    """The call leaves main's work at 10 and is done at 32; main's own op ends at `hot`."""
    p = Program(edges).step(0, 200)
    p.call(1, rows=1, fork=10, hot=hot)
    return p


@pytest.mark.parametrize("edges", [True, False], ids=["edges", "order"])
@pytest.mark.parametrize(("hot", "wait"), [(20, 12), (31, 1), (32, 0), (60, 0)])
def test_the_join_wait_is_the_sidecars_end_minus_the_main_cards(edges, hot, wait):
    _, joins, _ = one_call(edges, hot).calls()
    assert joins.wait.tolist() == [wait]
    assert (joins.main_ready - joins.fork).tolist() == [hot - 10]
    assert (joins.side_done - joins.fork).tolist() == [22]
    assert (joins.resumes - FIRST).tolist() == [max(hot, 32) + 3]


def test_a_join_later_than_another_that_waited_does_not_count():
    """Main waits at the first hot op already, as a peer copy makes it, and not where the range says so."""
    p = Program().step(0, 200)
    a = p.op("router", 0, 10, "layer/1/router")
    c = p.copy_in(12, 14, "sidecar/1", "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 16, 28, "sidecar/1", "sidecar/1/up", device=1, after=[c])
    e = p.copy_out(29, 32, "sidecar/1", "sidecar/1/copy_out", after=[d])
    b = p.op("hot_gemm", 35, 50, "layer/1/expert_gemm", after=[a, e])
    p.op("add", 51, 53, "layer/1/accumulate", after=[b, e])
    calls, joins, _ = p.calls()
    assert (joins.wait.tolist(), joins.marked_wait.tolist(), joins.at_mark.tolist()) == ([22], [0], [False])
    assert (joins.resumes - calls.start).tolist() == [35 - 12]
    said = p.sidecar().waits_said
    assert said == [
        "The main card really waits at the first op of `expert_gemm` (1 of 1 joins); at the range `accumulate`, which "
        "claims to wait or add, it waits 0.000 ms a step."
    ]


def test_a_call_that_nothing_follows_has_no_join():
    p = Program().step(0, 200)
    a = p.op("router", 0, 10)
    for at in (2, 4, 6):
        p.op("norm", at, at + 1, stream=9)
    c = p.copy_in(12, 14, "sidecar/1/copy_in", after=[a])
    p.op("w_gemm", 16, 28, "sidecar/1/up", device=1, after=[c])
    _, joins, pieces = p.calls()
    assert (joins.op.tolist(), joins.wait.tolist(), pieces.length.tolist()) == ([UNKNOWN], [0], [16])
    answer = p.sidecar()
    assert (answer.away_us_per_step, answer.all.away_us) == (0, None)
    assert "no_join" in [w["code"] for w in answer.warnings]


def test_a_join_of_two_sidecars_counts_once_for_the_step():
    """Main is ready at 20, one card at 36, the other at 38: the step waits 18, not 16 + 18."""
    answer = two_sidecars().sidecar()
    assert [call.join_wait_ns for call in answer.table] == [16, 18]
    assert answer.by_step[0].join_wait_ns == 18
    assert answer.join_wait_us_per_step == pytest.approx(0.018)
    assert answer.held_us_per_step == pytest.approx(0.020), "main goes on at 40, 2 after the later answer"


def test_31_us_in_each_of_38_layers_are_1_18_ms():
    """The posts: main is ready after 81 µs, the sidecar after 112; 31 µs × 38 = 1,178 µs a step."""
    p = Program().step(0, 9_000_000)
    for layer in range(38):
        p.call(layer, rows=1, fork=5_000, hot=5_000 + 81_000, work=112_000 - 10, at=200_000 * layer)
    answer = p.sidecar()
    assert answer.join_wait_us_per_step == pytest.approx(1_178)
    assert [(row.main_ready_us, row.sidecar_us, row.join_wait_us) for row in answer.by_layer] == [(81, 112, 31)] * 38


def test_waits_by_layer_step_and_class():
    p = Program()
    for n, (rows, hot) in enumerate([(1, 20), (3, 30), (5, 25)]):
        p.step(n, 200).call(4, rows=rows, fork=10, hot=hot)
        p.trace.step_fact(n, class_="code" if n < 2 else "prose")
    answer = p.sidecar()
    assert [(s.calls, s.join_wait_ns, s.away_ns) for s in answer.by_step] == [(1, 12, 23), (1, 2, 23), (1, 7, 23)]
    (layer,) = answer.by_layer
    assert (layer.layer, layer.rows, layer.calls) == (4, 3, 3)
    assert layer.join_wait_us == pytest.approx(0.007)
    code, prose = answer.classes
    assert (code.name, code.steps, code.calls, code.mean_rows) == ("code", 2, 1.0, 2.0)
    assert (code.join_wait_us, prose.join_wait_us) == (pytest.approx(0.007), pytest.approx(0.007))
    assert [call.class_ for call in answer.table] == ["code", "code", "prose"]


def test_waits_that_the_clocks_could_make_up_are_marked():
    """The handovers take 2 ns there and 3 back, so the clocks agree within 3: a wait of 2 is none for sure."""
    p = Program()
    for n, hot in enumerate((20, 30)):
        p.step(n, 200).call(1, rows=1, fork=10, hot=hot)
    answer = p.sidecar()
    assert (answer.clock_offset_bound_ns, answer.below_bound) == (3, 1)
    assert [call.below_bound for call in answer.table] == [False, True]
    assert answer.by_layer[0].below_bound == 1
    assert answer.waits_said == ["1 of 2 waits are shorter than the clocks of the cards can tell (3 ns)."]


def test_clocks_that_are_apart_are_told():
    """All times of the other card are 8 ns early: its first op seems to start before the copy in has ended."""
    p = Program().step(0, 200)
    p.call(1, rows=1, fork=10, hot=20, early=8)
    answer = p.sidecar()
    assert answer.clock_offset_bound_ns == 11
    (told,) = [w["text"] for w in answer.warnings if w["code"] == "clocks_apart"]
    assert told.startswith("The other card's clock is between -11 and -6 ns ahead of the main card's")
    # as recorded the answer is there at 24 and main ready at 20: 4; 6 to 11 ns later it is 10 to 15
    assert told.endswith("without that the main card waits 0.000 to 0.000 ms a step.")
    assert (answer.join_wait_us_per_step, answer.corrected_wait_us) == (
        pytest.approx(0.004),
        pytest.approx((0.010, 0.015)),
    )
    assert (answer.clock_offset_ns, answer.clocks_apart_ns) == ((-11, -6), 6)


def test_a_clock_so_early_that_the_wait_vanishes_is_told():
    """The other card is 30 ns early: its answer of 102 is told as 72, the main card was ready at 80."""
    p = Program().step(0, 400)
    p.call(1, rows=1, fork=10, hot=80, work=82, early=30)
    answer = p.sidecar()
    assert answer.join_wait_us_per_step == 0
    assert (answer.clock_offset_ns, answer.corrected_wait_us) == ((-33, -28), pytest.approx((0.020, 0.025)))


def test_what_the_host_launches_after_the_answer_no_sidecar_makes_faster():
    """Main is ready at 20 and the answer is there at 32; the join is called at 33 and starts at 35."""
    p = Program().step(0, 200)
    p.call(1, rows=1, fork=10, hot=20, called=33)
    answer = p.sidecar()
    assert (answer.join_wait_us_per_step, answer.held_us_per_step) == (pytest.approx(0.012), pytest.approx(0.002))
    assert answer.waits_said[0] == (
        "The host launched 1 of 1 joins only after the answer was there: a faster sidecar does not shorten these."
    )


def test_a_spin_wait_of_the_main_card_is_the_sidecars_side_of_the_join():
    """Unmarked: main spins from 20 until 33, when it has seen the answer of 32; the last ns is its own."""
    p = Program().step(0, 200)
    a = p.op("router", 0, 10)
    b = p.op("hot_gemm", 10, 20, after=[a])
    c = p.copy_in(12, 14, after=[a])
    d = p.op("w_gemm", 16, 28, device=1, after=[c])
    p.copy_out(29, 32, after=[d])
    w = p.op("spin_wait_kernel", 20, 33, after=[b])
    p.op("add", 34, 36, after=[w])
    calls, joins, pieces = p.calls()
    assert (len(calls), joins.wait.tolist(), joins.side_done.tolist()) == (1, [12], [FIRST + 32])
    assert int(pieces.ns[np.isin(pieces.phase, [pieces.phases.index("wake_up")])].sum()) == 2


@pytest.mark.parametrize("edges", [True, False])
@pytest.mark.parametrize(("answered", "wait"), [(112, 31), (82, 1), (81, 0), (40, 0)])
def test_a_main_card_that_spins_after_its_own_work_waits_for_the_other_card_alone(edges, answered, wait):
    """One stream: main is ready at 81, spins, fetches the answer; an answer of 40 was there long before."""
    p = Program(edges=edges).step(0, 200)
    a = p.op("router", 0, 10, "layer/1/router")
    b = p.op("publish_copy_kernel", 10, 12, "sidecar/1/publish", after=[a])
    p.op("w_gemm", 14, answered, "sidecar/1/up", device=1, after=[b])
    h = p.op("hot_gemm", 14, 81, "layer/1/expert_gemm", after=[b])
    seen = max(answered, 81) + 2
    w = p.op("wait_flag_kernel", 81, seen, "sidecar/1/wait", after=[h])
    c = p.op("back_copy_kernel", seen + 1, seen + 3, "sidecar/1/copy_out", after=[w])
    p.op("add", seen + 4, seen + 6, "layer/1/accumulate", after=[h, c])
    calls, joins, _ = p.calls()
    assert (len(calls), joins.main_ready.tolist(), joins.wait.tolist()) == (1, [FIRST + 81], [wait])


def test_a_spin_beside_the_main_cards_work_keeps_its_fetching_in_the_wait():
    """Two streams of the main card: main is ready at 30, the spin that began at 12 has fetched the answer at 45."""
    p = Program().step(0, 200)
    a = p.op("router", 0, 10, "layer/1/router")
    b = p.op("publish_copy_kernel", 10, 12, "sidecar/1/publish", after=[a])
    p.op("w_gemm", 14, 40, "sidecar/1/up", device=1)
    w = p.op("wait_flag_kernel", 12, 41, "sidecar/1/wait", after=[b])
    c = p.op("back_copy_kernel", 42, 45, "sidecar/1/copy_out", after=[w])
    h = p.op("hot_gemm", 12, 30, "layer/1/expert_gemm", after=[a])
    p.op("add", 46, 48, "layer/1/accumulate", after=[h, c])
    _, joins, _ = p.calls()
    assert joins.wait.tolist() == [15]


def test_a_clock_ahead_does_not_hide_the_wait():
    """The other card's clock is 7 ns ahead: the answer of 132 seems to end at 139, after main went on at 135."""
    p = Program().step(0, 400)
    a = p.op("router", 0, 10, "layer/1/router")
    b = p.op("hot_gemm", 10, 60, "layer/1/expert_gemm", after=[a])
    c = p.copy_in(12, 14, "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 116 + 7, 128 + 7, "sidecar/1/up", device=1, after=[c])
    e = p.copy_out(129 + 7, 132 + 7, "sidecar/1/copy_out", after=[d])
    p.op("add", 135, 137, "layer/1/accumulate", after=[b, e])
    p.op("norm", 150, 155)
    answer = p.sidecar()
    assert [(call.join_wait_ns, call.below_bound) for call in answer.table] == [(75, True)]  # until 135; 72 is true
    (told,) = [w["text"] for w in answer.warnings if w["code"] == "clocks_apart"]
    assert told.startswith("The other card's clock is between 4 and 109 ns ahead")
