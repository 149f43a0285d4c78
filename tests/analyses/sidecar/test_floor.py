"""The least time that reading the weights takes, and the headroom above it."""

import numpy as np
import pytest

from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.sidecar.answer import SidecarQuestion
from stepprof.analyses.sidecar.floor import Floor, Quoted, floors_above
from tests.analyses.sidecar.sidecar_program import Program


def program(**card: int) -> Program:
    p = Program()
    if card:
        p.trace.add("device", device=1, name="small", **card)
    p.step(0, 200).call(1, rows=2, fork=10, hot=20)
    return p


def floors(p: Program, quoted: Quoted | None = None) -> tuple[float | None, float | None, str]:
    answer = p.sidecar(SidecarQuestion(quoted=quoted or Quoted()))
    return answer.per_rows[0].floor_us, answer.headroom_us, answer.floor_said


def test_experts_that_some_calls_tell_are_told_apart():
    p = Program().step(0, 300)
    p.call(1, rows=2, fork=10, hot=20)
    p.call(2, rows=1, fork=10, hot=20, at=100)
    p.trace.call_fact(0, 1, rows=2, experts=3, skipped=False)
    assert p.sidecar(SidecarQuestion(quoted=Quoted(3, 1))).floor_said.startswith(
        "3e-06 MB (quoted) × experts (1 of 2 calls), else rows (one expert each, an estimate"
    )


def test_quoted_bytes_and_bandwidth():
    """Two rows of 3 bytes at 1 byte a ns; the call takes 23 ns."""
    floor, room, said = floors(program(), Quoted(3, 1))
    assert (floor, room) == (pytest.approx(0.006), pytest.approx(0.017))
    assert (
        said
        == "3e-06 MB (quoted) × rows (one expert each, an estimate: rows that share experts read less) ÷ 1 GB/s (quoted), modelled"
    )


def test_experts_where_they_are_told():
    p = program()
    p.trace.call_fact(0, 1, rows=2, experts=5)
    assert floors(p, Quoted(3, 1))[0] == pytest.approx(0.015)


def test_costs_of_ranges_count_once_a_call_and_the_cards_own_bandwidth():
    p = program(memory_bandwidth=2_000_000_000)
    p.trace.add("op_cost", label="sidecar/1/up", bytes_read=16, source="counted")
    p.trace.add("op_cost", label="sidecar/1/copy_in", bytes_read=1_000, source="counted")  # rows, no weights
    floor, _, said = floors(p)
    assert floor == pytest.approx(0.008)
    assert said == "bytes of op costs ÷ 2 GB/s (nominal, quoted), modelled"


def test_costs_of_an_op_by_its_name():
    p = program(memory_bandwidth=1_000_000_000)
    p.trace.add("op_cost", label="w_gemm", bytes_read=7, source="counted")
    assert floors(p)[0] == pytest.approx(0.007)


def test_copies_of_weights_within_the_call():
    p = Program().step(0, 200)
    p.trace.add("device", device=1, name="small", memory_bandwidth=1_000_000_000)
    a = p.op("router", 0, 10)
    p.op("norm", 11, 12)
    p.op("norm", 13, 14)
    c = p.copy_in(12, 14, "sidecar/1/copy_in", after=[a], bytes=100)
    p.op("", 16, 26, "sidecar/1/gather", way="Device-to-Device", device=1, bytes=9, after=[c])
    floor, _, said = floors(p)
    assert (floor, said.split(" ÷")[0]) == (pytest.approx(0.009), "bytes of copies in the calls")


@pytest.mark.parametrize(
    ("quoted", "lacks"),
    [
        (Quoted(), "bytes of the experts are not known and the memory bandwidth of the sidecar is not known"),
        (Quoted(expert_bytes=3), "the memory bandwidth of the sidecar is not known"),
        (Quoted(bandwidth=3), "bytes of the experts are not known"),
    ],
)
def test_without_bytes_or_bandwidth_there_is_no_floor(quoted, lacks):
    floor, room, said = floors(program(), quoted)
    assert (floor, room) == (None, None)
    assert said == f"no floor: {lacks} (give --expert-bytes N --bandwidth GBPS, or import --costs)."


def test_a_floor_above_the_call_is_questioned_and_gives_no_headroom():
    """2 rows of 3 bytes at 0.2 bytes a ns are 30 ns; the call takes 23."""
    answer = program().sidecar(SidecarQuestion(quoted=Quoted(3, 0.2)))
    (warning,) = [one for one in answer.warnings if one["code"] == "floor_above_call"]
    assert (answer.all.floor_us, answer.headroom_us, warning["count"]) == (pytest.approx(0.030), None, 1)
    assert answer.headroom_said.endswith("how much of it must be is not known.")
    assert "largest phase is up_gate" in answer.headroom_said, "the floor that cannot be is charged to no phase"


def test_the_sentence_names_the_worst_rows():
    """Floors 30 and 10 µs where calls take 20 and 5; calls of 3 rows are longer than their floor."""
    floor = Floor(np.array([30e3, 10e3, 10e3, 1e3]), "")
    found = floors_above(floor, np.array([2, 1, 1, 3]), np.array([20_000, 4_000, 6_000, 9_000]))
    assert [(one["code"], one["count"]) for one in found] == [("floor_above_call", 3)]
    assert found[0]["text"] == (
        "The floors of 3 calls are above the median call of as many rows (rows 1: 10.0 µs, and a call takes 5.0): the "
        "bandwidth or the bytes of an expert cannot be right, so no headroom is named."
    )


def test_floors_of_other_calls_are_not_held_against_a_call():
    """Calls of unknown rows, each at its floor: the mean floor is above the median call, the median floor is not."""
    rows, length = np.full(3, UNKNOWN), np.array([10, 11, 100])
    assert floors_above(Floor(length.astype(float), ""), rows, length) == []
    assert "(rows unknown: " in floors_above(Floor(length + 1.0, ""), rows, length)[0]["text"]
    assert floors_above(Floor(None, ""), rows, length) == []


def test_headroom_is_that_of_calls_with_rows():
    """One call of 2 rows, 23 ns, and one without rows, of 23 too: floor 6 ns, so 17; the sentence tells the former alone."""
    p = Program().step(0, 300)
    p.call(1, rows=2, fork=10, hot=20)
    p.call(2, rows=0, fork=10, hot=20, work=40, at=100)
    answer = p.sidecar(SidecarQuestion(quoted=Quoted(3, 1)))
    assert (answer.calls, answer.empty_calls, answer.headroom_us) == (2, 1, pytest.approx(0.017))
    assert "of 0.0 µs a call" in answer.headroom_said


def test_the_phase_with_the_largest_headroom_in_one_sentence():
    answer = program().sidecar(SidecarQuestion(quoted=Quoted(3_000, 1_000)))
    assert answer.headroom_said == (
        "The largest headroom is in up_gate: 0.0 of 0.0 µs a call, 0.0 µs above its share of the floor (modelled); "
        "100 % of it is kind gemm."
    )
    assert "how much of it must be is not known" in program().sidecar().headroom_said
