"""What a server's facts say of sidecar calls: rows, experts, and which were not made."""

import pytest

from stepprof.profiler.errors import Refused
from tests.analyses.sidecar.sidecar_program import FIRST, PITCH, Program


def test_skipped_and_empty_calls():
    """Layer 1 is served, layer 2 was called without rows, layer 3 only posted and skipped, layer 4 not touched."""
    p = Program().step(7, 300)
    p.call(1, rows=9, fork=10, hot=20)
    p.call(2, rows=9, fork=10, hot=20, at=60)
    p.op("publish_copy_kernel", 120, 122, "sidecar/3/publish")
    p.trace.call_fact(7, 1, rows=2, experts=3, skipped=False).call_fact(7, 2, rows=0, experts=0, skipped=False)
    p.trace.call_fact(7, 3, rows=0, experts=0, skipped=True).call_fact(7, 4, rows=0, experts=0, skipped=True)
    p.trace.call_fact(8, 1, rows=5, experts=5, skipped=True)  # of a step that is not in the trace
    answer = p.sidecar()
    assert (answer.calls, answer.empty_calls, answer.skipped_share, answer.rows_from) == (2, 1, 0.5, "facts")
    assert [(call.layer, call.rows, call.experts) for call in answer.table] == [(1, 2, 3), (2, 0, 0)]


def test_a_call_that_ran_was_not_skipped_whatever_the_facts_say():
    p = Program().step(0, 200)
    p.call(1, rows=2, fork=10, hot=20)
    p.trace.call_fact(0, 1, rows=0, skipped=True)
    answer = p.sidecar()
    assert (answer.calls, answer.skipped_share) == (1, 0.0)
    assert "skipped_but_ran" in [w["code"] for w in answer.warnings]


def test_one_fact_does_not_tell_of_two_calls_of_a_layer():
    p = Program().step(0, 300)
    p.call(1, rows=2, fork=10, hot=20)
    p.call(1, rows=3, fork=10, hot=20, at=100)
    p.call(2, rows=1, fork=10, hot=20, at=200)
    p.trace.call_fact(0, 1, rows=9, skipped=False).call_fact(0, 2, rows=4, skipped=False)
    answer = p.sidecar()
    assert [(call.layer, call.rows) for call in answer.table] == [
        (1, 2),
        (1, 3),
        (2, 4),
    ]  # by marks, by marks, by facts
    (told,) = [w for w in answer.warnings if w["code"] == "facts_ambiguous"]
    assert told["count"] == 2


def test_a_step_whose_calls_were_all_skipped_says_so():
    p = Program().step(0, 200)
    for at in (0, 20):
        p.op("norm", at, at + 10)
    p.trace.call_fact(0, 1, rows=0, skipped=True).call_fact(0, 2, rows=0, skipped=True)
    p.step(1, 200).call(1, rows=2, fork=10, hot=20)
    with pytest.raises(Refused, match=r"all 2 calls of these steps were skipped.*: choose other steps with --steps"):
        p.sidecar(chosen=[0])


def test_facts_cannot_tell_the_rows_of_calls_without_a_layer():
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    b = p.copy_in(12, 14, after=[a])
    c = p.op("w_gemm", 16, 28, device=1, after=[b])
    p.op("add", 40, 42, after=[a, p.copy_out(29, 32, after=[c])])
    p.trace.call_fact(0, 1, rows=4, skipped=False)
    answer = p.sidecar()
    (told,) = [w["text"] for w in answer.warnings if w["code"] == "rows_unknown"]
    assert told.endswith("by layer, which these calls do not name: take it from a marked run with --labels-from.")


@pytest.mark.parametrize(
    ("label", "rows"),
    [
        (lambda n: f"step/{n + 5}", [1, 2, 3]),  # facts of steps 5, 6, 7
        (lambda n: "step[DECODE bs=1]", [4, 5, 6]),  # facts of steps 0, 1, 2
        (lambda n: f"execute_context_0({n})_generation_1(1)", [4, 5, 6]),
        (lambda n: f"step/{5 + n % 2}", [4, 5, 6]),  # numbers that begin anew tell nothing
    ],
)
def test_facts_go_by_the_number_in_the_mark_or_count(label, rows):
    p = Program()
    for n in range(3):
        p.start = FIRST + n * PITCH
        p.trace.range(label(n), p.start - 2, p.start + 200)
        p.graph = p.trace.graph_launch(call=(p.start - 1, p.start))
        p.call(1, rows=9, fork=10, hot=20)
        p.trace.call_fact(5 + n, 1, rows=1 + n, skipped=False).call_fact(n, 1, rows=4 + n, skipped=False)
    assert [call.rows for call in p.sidecar().table] == rows
