"""Which ops make up the calls of a sidecar, and what is known of each."""

from collections.abc import Callable

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.sidecar.answer import sidecar
from stepprof.profiler.errors import Refused
from tests.analyses.sidecar.sidecar_program import FIRST, Program, phases, two_sidecars
from tests.trace_builder import TraceBuilder


def norms(p: Program) -> None:
    """More of the main card's own ops: it is the card that has most."""
    for at in range(60, 90, 5):
        p.op("norm", at, at + 3)


def test_marked_calls_by_step_and_layer():
    p = Program()
    for n in range(2):
        p.step(n, 200).call(1, rows=2, fork=10, hot=20)
        p.call(3, rows=4, fork=10, hot=20, at=60)
    calls, _, _ = p.calls()
    assert calls.step.tolist() == [0, 0, 1, 1]
    assert calls.layer.tolist() == [1, 3, 1, 3]
    assert calls.rows.tolist() == [2, 4, 2, 4]
    assert (calls.start - FIRST).tolist() == [12, 72, 10_012, 10_072]
    assert (calls.done - calls.start).tolist() == [20] * 4
    assert (calls.source, calls.rows_from, calls.skipped, calls.warnings) == ("marks", "marks", None, [])


def test_only_chosen_steps_have_calls():
    p = Program()
    for n in range(3):
        p.step(n, 200).call(1, rows=2, fork=10, hot=20)
    assert p.calls(chosen=[1])[0].step.tolist() == [1]


def test_overlapping_calls_stay_apart():
    """Layer 2's call begins while layer 1's still runs on another stream of the card."""
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    for layer, start in ((1, 12), (2, 16)):
        c = p.copy_in(start, start + 2, f"sidecar/{layer}/copy_in", after=[a])
        d = p.op("w_gemm", start + 4, start + 20, f"sidecar/{layer}/up", device=1, stream=20 + layer, after=[c])
        p.copy_out(start + 22, start + 24, f"sidecar/{layer}/copy_out", after=[d])
    calls, _, _ = p.calls()
    assert (calls.layer.tolist(), (calls.start - FIRST).tolist(), (calls.done - FIRST).tolist()) == (
        [1, 2], [12, 16], [36, 40],
    )  # fmt: skip


def test_a_layer_is_called_twice_where_a_part_opens_again_after_one_that_closes():
    p = Program().step(0, 200)
    p.call(1, rows=1, fork=10, hot=20)
    p.call(1, rows=1, fork=10, hot=20, at=60)
    calls, _, _ = p.calls()
    assert (calls.layer.tolist(), (calls.start - FIRST).tolist()) == ([1, 1], [12, 72])


def test_copies_that_only_a_range_around_the_call_holds_tell_calls_of_a_layer_apart():
    """Three drafts call one layer; true: three calls of 20."""
    p = Program().step(0, 400)
    for j, at in enumerate((0, 100, 200)):
        a = p.op("router", at, at + 10, f"draft/{j}", "layer/61/router")
        b = p.op("hot_gemm", at + 10, at + 20, f"draft/{j}", "layer/61/expert_gemm", after=[a])
        mark = (f"draft/{j}", "sidecar/61 rows=1")
        c = p.copy_in(at + 12, at + 14, *mark, after=[a])
        d = p.op("w_gemm", at + 16, at + 28, *mark, "sidecar/61/up", device=1, after=[c])
        e = p.copy_out(at + 29, at + 32, *mark, after=[d])
        p.op("add", at + 35, at + 37, f"draft/{j}", "layer/61/accumulate", after=[b, e])
    calls, _, _ = p.calls()
    assert (calls.start - FIRST).tolist() == [12, 112, 212]
    assert (calls.done - calls.start).tolist() == [20, 20, 20]


def test_calls_without_a_layer_are_told_apart_by_their_parts():
    p = Program().step(0, 200)
    for at in (0, 50):
        a = p.op("router", at, at + 10)
        c = p.copy_in(at + 12, at + 14, "sidecar.copy_in", after=[a])
        d = p.op("w_gemm", at + 16, at + 20, "sidecar.gemm", device=1, after=[c])
        p.copy_out(at + 22, at + 24, "sidecar.copy_out", after=[d])
    calls, _, _ = p.calls()
    assert (calls.layer.tolist(), (calls.start - FIRST).tolist()) == ([UNKNOWN] * 2, [12, 62])


def test_a_call_over_the_edge_of_its_step_is_whole_and_counted():
    p = Program()
    p.step(0, 30).call(1, rows=2, fork=10, hot=20, work=60)  # done at 80, after the mark of the step
    p.step(1, 200, at=FIRST + 50).op("norm", 0, 10)
    calls, _, _ = p.calls()
    assert (calls.done - calls.start).tolist() == [68]
    assert [w["text"] for w in calls.warnings if w["code"] == "call_over_edge"] == [
        "1 calls reach over the edge of their step's window; they are counted whole."
    ]


def test_kernels_of_the_main_card_inside_a_range_around_the_call_are_its_own():
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    b = p.op("hot_gemm", 11, 24, "sidecar/1 rows=2", after=[a])
    c = p.copy_in(12, 14, "sidecar/1 rows=2", after=[a])
    d = p.op("w_gemm", 16, 28, "sidecar/1 rows=2", device=1, after=[c])
    e = p.copy_out(29, 32, "sidecar/1 rows=2", after=[d])
    p.op("add", 35, 37, "sidecar/1 rows=2", after=[b, e])
    _, joins, pieces = p.calls()
    assert joins.wait.tolist() == [32 - 24]
    assert phases(pieces) == {
        "copy_in": 2, "gap:copy_in→gemm": 2, "gemm": 12, "gap:gemm→copy_out": 1, "copy_out": 3, "wake_up": 3,
    }  # fmt: skip


def test_two_sidecars_serve_one_layer():
    calls, _, _ = two_sidecars().calls()
    assert (calls.side.tolist(), (calls.start - FIRST).tolist(), (calls.done - FIRST).tolist()) == (
        [1, 2], [12, 14], [36, 38],
    )  # fmt: skip


def test_an_unmarked_op_inside_a_call_belongs_to_it_and_others_are_counted():
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    c = p.copy_in(12, 14, "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 16, 20, "sidecar/1/up", device=1, after=[c])
    x = p.op("direct_copy_kernel_cuda", 21, 25, device=1, after=[d])
    p.copy_out(26, 28, "sidecar/1/copy_out", after=[x])
    p.op("stray", 50, 60, device=1)
    norms(p)
    calls, _, pieces = p.calls()
    assert phases(pieces) == {
        "copy_in": 2, "gap:copy_in→up_gate": 2, "up_gate": 4, "gap:up_gate→copy": 1, "copy": 4,
        "gap:copy→copy_out": 1, "copy_out": 2,
    }  # fmt: skip
    assert ("outside_calls", 1) in [(w["code"], w["count"]) for w in calls.warnings]


def unmarked(edges: bool) -> Program:
    p = Program(edges).step(0, 200)
    for at in (0, 60):
        a = p.op("router", at, at + 10)
        b = p.op("hot_gemm", at + 10, at + 20, after=[a])
        c = p.copy_in(at + 12, at + 14, after=[a])
        d = p.op("w_gemm", at + 16, at + 28, device=1, after=[c])
        e = p.copy_out(at + 29, at + 32, after=[d])
        p.op("add", at + 35, at + 37, after=[b, e])
    return p


@pytest.mark.parametrize("edges", [True, False], ids=["edges", "order"])
def test_calls_without_marks_by_what_goes_to_and_fro(edges):
    calls, joins, pieces = unmarked(edges).calls()
    assert (calls.source, calls.rows_from) == ("traffic", None)
    assert ((calls.start - FIRST).tolist(), (calls.done - FIRST).tolist()) == ([12, 72], [32, 92])
    assert joins.wait.tolist() == [12, 12]
    assert phases(pieces, 1) == {
        "copy_in": 2, "gap:copy_in→gemm": 2, "gemm": 12, "gap:gemm→copy_out": 1, "copy_out": 3, "wake_up": 3,
    }  # fmt: skip
    assert [w["code"] for w in calls.warnings] == ["rows_unknown"]


def test_overlapping_calls_without_marks_follow_their_edges():
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    for start in (12, 16):
        c = p.copy_in(start, start + 2, after=[a])
        d = p.op("w_gemm", start + 4, start + 20, device=1, stream=start, after=[c])
        p.copy_out(start + 22, start + 24, after=[d])
    norms(p)
    calls, _, _ = p.calls()
    assert ((calls.start - FIRST).tolist(), (calls.done - FIRST).tolist()) == ([12, 16], [36, 40])


def test_a_worker_that_marks_no_steps_serves_the_step_in_whose_time_it_runs():
    """The main process publishes, spins and copies back; another process wakes and computes."""
    t = TraceBuilder()
    for n in range(2):
        at = 1_000 * n
        t.range(f"step/{n}", at, at + 500)
        for k, (name, start, end, path) in enumerate(
            [
                ("router", 50, 60, "layer/4/router"),
                ("publish_copy_kernel", 62, 64, "sidecar/4/publish"),
                ("wait_flag_kernel", 65, 100, "sidecar/4/wait"),
                ("back_copy_kernel", 101, 104, "sidecar/4/copy_out"),
                ("add", 105, 110, "layer/4/accumulate"),
            ]
        ):
            t.range(path, at + 4 * k + 1, at + 4 * k + 4)
            t.kernel(name, at + start, at + end, call=(at + 4 * k + 2, at + 4 * k + 3))
        t.range("sidecar/4 rows=3", at + 70, at + 80, process=1, thread=9)
        t.range("sidecar/4/up", at + 71, at + 79, process=1, thread=9)
        t.kernel("w_gemm", at + 80, at + 98, call=(at + 72, at + 73), process=1, thread=9, device=1)
    store = t.store()
    answer = sidecar(store, attribute(store))
    assert (answer.calls, answer.rows_from) == (2, "marks")
    assert answer.rows_said == "rows by marks", "of these steps, not of a capture"
    assert [(c.step, c.layer, c.card, c.rows, c.call_ns) for c in answer.table] == [(0, 4, 1, 3, 43), (1, 4, 1, 3, 43)]
    assert answer.per_rows[0].phases_mean_us == pytest.approx(
        {"publish": 0.002, "wake": 0.016, "up_gate": 0.018, "gap:up_gate→copy_out": 0.003, "copy_out": 0.003,
         "wake_up": 0.001}
    )  # fmt: skip
    # between 64 and 65 nobody spins yet, between 100 and 101 nobody does any more; 104 to 105 is the wake-up
    assert answer.per_rows[0].kinds_mean_us["wait"] == pytest.approx(0.017)
    assert answer.per_rows[0].kinds_mean_us["gap"] == pytest.approx(0.003)


def worker_of_this_process(mark: Callable[[int], tuple[int, int]]) -> TraceBuilder:
    """Steps of 100 whose GPU work runs at 30-95; thread 9 computes at 60-80, called at 56. `mark`: a step's host range."""
    t = TraceBuilder()
    for n in range(6):
        at = 1_000 + 100 * n
        low, high = mark(n)
        t.range(f"step/{n}", at + low, at + high)
        t.kernel("router", at + 30, at + 50, call=(at + low + 2, at + low + 3))
        t.kernel("add", at + 85, at + 95, call=(at + low + 4, at + low + 5))
        t.range("sidecar/4 rows=3", at + 54, at + 60, thread=9)
        t.kernel("w_gemm", at + 60, at + 80, call=(at + 56, at + 57), thread=9, device=1)
    return t


@pytest.mark.parametrize(
    "mark",
    [lambda n: (0, 54 + 4 * (n % 2)), lambda n: (-100, -1), lambda n: (0, 100)],
    ids=["jitter", "ahead", "behind"],
)
def test_a_worker_thread_serves_the_step_in_whose_time_it_runs(mark):
    """Whether the step's mark is open when the worker calls, already over, or that of the step to come."""
    store = worker_of_this_process(mark).store()
    assert [(c.step, c.rows) for c in sidecar(store, attribute(store)).table] == [(n, 3) for n in range(6)]


def test_one_card_is_refused():
    p = Program().step(0, 100)
    p.op("a", 0, 10, "sidecar/1/up")
    with pytest.raises(Refused, match=r"built\.duckdb: all ops ran on one card, so no sidecar can be seen"):
        p.sidecar()


def test_a_resident_kernel_without_its_stamps_is_refused_with_the_way_to_them():
    p = Program()
    p.trace.kernel("resident_sidecar_kernel", 10, FIRST + 500, device=1)
    p.step(0, 100).op("a", 0, 10)
    with pytest.raises(Refused, match=r"a resident kernel whose calls are not on record .* --resident FILE"):
        p.sidecar()


def test_steps_without_ops_on_another_card_are_refused():
    p = Program()
    p.trace.kernel("elsewhere", 10, 20, device=1)
    p.step(0, 100).op("a", 0, 10)
    with pytest.raises(Refused, match="no op of the steps ran on another card"):
        p.sidecar()


def test_a_second_card_without_marks_or_copies_is_no_sidecar():
    p = Program().step(0, 100)
    for at in (0, 20, 40):
        p.op("a", at, at + 10)
    p.op("b", 0, 10, device=1)
    with pytest.raises(Refused, match=r"no range marks them as calls .* --rules"):
        p.sidecar()


def test_a_users_rules_say_which_ranges_are_parts_of_a_call(tmp_path):
    rules = tmp_path / "mine.toml"
    rules.write_text(
        "[[range]]\nid = 'mine.call'\npattern = '^cold L(?P<layer>\\d+) n=(?P<rows>\\d+)'\ncall = true\n"
        "[[range]]\nid = 'mine.part'\npattern = '^cold:(?P<part>\\w+)$'\n"
    )
    from stepprof.analyses.attribution import Question, attribute
    from stepprof.analyses.sidecar.answer import SidecarQuestion, sidecar

    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    c = p.copy_in(12, 14, "cold L5 n=3", "cold:copy_in", after=[a])
    p.op("w_gemm", 16, 28, "cold L5 n=3", "cold:gemm", device=1, after=[c])
    store = p.trace.store()
    answer = sidecar(store, attribute(store, Question(rules=rules)), None, SidecarQuestion(rules))
    assert [(call.layer, call.rows, call.call_ns) for call in answer.table] == [(5, 3, 16)]
