"""A call cut into phases, to the nanosecond."""

import pytest

from stepprof.analyses.sidecar.phases import PIECE_KINDS
from tests.analyses.sidecar.sidecar_program import FIRST, Program, phases


def kinds(pieces, call=0):
    total = {}
    for number, kind, ns in zip(pieces.call, pieces.kind, pieces.ns, strict=True):
        if number == call:
            total[PIECE_KINDS[kind]] = total.get(PIECE_KINDS[kind], 0) + int(ns)
    return total


def test_phases_and_the_gaps_between_them_add_up_to_the_call():
    """From the copy in at 12 until the main card, ready at 24, goes on at 33."""
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    b = p.op("hot_gemm", 11, 24, after=[a])
    c = p.copy_in(12, 14, "sidecar/1/copy_in", after=[a])
    d = p.op("indexSelectSmallIndex", 16, 20, "sidecar/1/gather", device=1, after=[c])
    e = p.op("direct_copy_kernel_cuda", 21, 24, "sidecar/1/up", device=1, after=[d])
    f = p.op("w_gemm", 24, 26, "sidecar/1/up", device=1, after=[e])
    g = p.copy_out(28, 30, "sidecar/1/copy_out", after=[f])
    p.op("add", 33, 35, "layer/1/accumulate", after=[b, g])
    _, _, pieces = p.calls()
    assert pieces.length.tolist() == [21]
    assert phases(pieces) == {
        "copy_in": 2, "gap:copy_in→gather": 2, "gather": 4, "gap:gather→up_gate": 1, "up_gate": 5,
        "gap:up_gate→copy_out": 2, "copy_out": 2, "wake_up": 3,
    }  # fmt: skip
    assert pieces.phases == [
        "copy_in", "gap:copy_in→gather", "gather", "gap:gather→up_gate", "up_gate", "gap:up_gate→copy_out", "copy_out",
        "wake_up",
    ]  # fmt: skip
    assert kinds(pieces) == {"copy": 2 + 4 + 3 + 2, "gemm": 2, "gap": 2 + 1 + 2 + 3}


def test_without_a_wait_the_call_ends_with_its_last_op():
    p = Program().step(0, 100)
    p.call(1, rows=1, fork=10, hot=60)
    _, joins, pieces = p.calls()
    assert (joins.wait.tolist(), pieces.length.tolist()) == ([0], [20])
    assert "wake_up" not in phases(pieces)


def test_an_op_that_starts_before_an_earlier_one_has_ended_counts_from_that_end_on():
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    c = p.copy_in(12, 20, "sidecar/1/copy_in", after=[a])
    p.op("w_gemm", 18, 24, "sidecar/1/up", device=1, stream=21, after=[c])
    p.op("w_gemm", 19, 22, "sidecar/1/down", device=1, stream=22, after=[c])
    p.copy_out(25, 27, "sidecar/1/copy_out")
    _, _, pieces = p.calls()
    assert pieces.length.tolist() == [15]
    assert phases(pieces) == {"copy_in": 8, "up_gate": 4, "gap:up_gate→copy_out": 1, "copy_out": 2}


def test_spin_waits_are_waiting_and_neither_begin_nor_end_a_call():
    """The other card polls from 2 on; main posts at 10, the poll sees it at 14."""
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    p.op("spin_wait_kernel", 2, 14, "sidecar/1/wait", device=1)
    b = p.op("publish_copy_kernel", 10, 12, "sidecar/1/publish", after=[a])
    p.op("w_gemm", 15, 25, "sidecar/1/up", device=1)
    w = p.op("spin_wait_kernel", 12, 27, "sidecar/1/wait", after=[b])
    p.op("add", 28, 30, "layer/1/accumulate", after=[w])
    calls, joins, pieces = p.calls()
    assert ((calls.start - FIRST).tolist(), (calls.done - FIRST).tolist()) == ([10], [25])
    assert phases(pieces) == {"publish": 2, "wake": 3, "up_gate": 10, "wake_up": 3}
    assert kinds(pieces) == {"copy": 2, "gemm": 10, "wait": 3 + 2, "gap": 1}
    assert joins.wait.tolist() == [27 - 10]  # the main card had been ready since the router


def ring(p: Program, *rows: tuple[int, int, int, int, int | None, int]) -> None:
    for round_, layer, held, seen, gated, answered in rows:
        at = {"seen_ns": FIRST + seen, "gated_ns": None if gated is None else FIRST + gated}
        p.trace.add("resident_call", round=round_, layer=layer, rows=held, answered_ns=FIRST + answered,
                    clock_offset_bound_ns=1, **at)  # fmt: skip


def posted(p: Program, layer: int, at: int) -> None:
    """What the main card does for a resident kernel."""
    a = p.op("router", at, at + 10)
    b = p.op("publish_copy_kernel", at + 10, at + 12, f"sidecar/{layer}/publish", after=[a])
    s = p.op("signal_kernel", at + 13, at + 14, f"sidecar/{layer}/signal", after=[b])
    w = p.op("wait_flag_kernel", at + 14, at + 41, f"sidecar/{layer}/wait", after=[s])
    c = p.op("back_copy_kernel", at + 42, at + 44, f"sidecar/{layer}/copy_out", after=[w])
    p.op("add", at + 45, at + 47, f"layer/{layer}/accumulate", after=[a, c])


def test_a_resident_kernel_is_seen_by_its_ring():
    p = Program().step(0, 200)
    posted(p, 1, 0)
    posted(p, 2, 60)
    ring(p, (1, 1, 3, 16, 30, 40), (1, 2, 1, 76, None, 100), (9, 1, 3, 900_000, None, 900_010))
    calls, joins, pieces = p.calls()
    assert (calls.layer.tolist(), calls.rows.tolist(), calls.rows_from) == ([1, 2], [3, 1], "stamps")
    assert phases(pieces) == {
        "publish": 2, "gap:publish→signal": 1, "signal": 1, "wake": 2, "up_gate": 14, "down": 10,
        "gap:down→copy_out": 2, "copy_out": 2, "wake_up": 1,
    }  # fmt: skip
    assert phases(pieces, 1)["serve"] == 24
    assert kinds(pieces) == {"copy": 2 + 1 + 2, "wait": 2 + 1, "gemm": 24, "gap": 1 + 1 + 1}
    assert joins.wait.tolist() == [44 - 10, 104 - 70]


def test_a_ring_alone_makes_calls():
    p = Program().step(0, 200)
    p.op("router", 0, 10)
    p.op("add", 60, 62)
    ring(p, (1, 1, 3, 16, 30, 40))
    calls, _, pieces = p.calls()
    assert (calls.source, calls.layer.tolist(), calls.rows.tolist()) == ("stamps", [1], [3])
    assert phases(pieces) == {"up_gate": 14, "down": 10, "wake_up": 20}


def test_a_stamp_that_fits_no_call_is_counted():
    p = Program().step(0, 200)
    posted(p, 1, 0)
    ring(p, (1, 1, 3, 16, 30, 40), (1, 5, 3, 20, 30, 40))
    calls, _, _ = p.calls()
    assert ("stamp_without_call", 1) in [(w["code"], w["count"]) for w in calls.warnings]


@pytest.mark.parametrize("length", [1, 1_000_000])
def test_pieces_of_many_calls_add_up(length):
    p = Program().step(0, 30 * length + 2_000)
    for k in range(20):
        p.call(k, rows=1 + k % 3, fork=10, hot=20 + k, work=5 + k * (length // 1_000 + 1), at=(length + 60) * k)
    _, _, pieces = p.calls()
    assert pieces.length.sum() == pieces.ns.sum() > 0
