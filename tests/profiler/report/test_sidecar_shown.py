"""What breakdown --sidecar says of programs made in code: document, CSV and terminal, to the nanosecond."""

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.sidecar.classes import beside_runs
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.profiler.report.document_sidecar import calls_csv, sidecar_document
from stepprof.profiler.report.terminal_sidecar import show_sidecar
from tests.analyses.sidecar.sidecar_program import Program, two_sidecars


def shown(answer: Sidecar) -> list[str]:
    """The lines of the terminal."""
    out = io.StringIO()
    show_sidecar(Console(file=out, width=80, soft_wrap=True), "made.sqlite", answer)
    return out.getvalue().splitlines()


def said(answer: Sidecar) -> str:
    """The same as one line."""
    return " ".join(" ".join(shown(answer)).split())


def copies_inside() -> Sidecar:
    """In up_gate a gemm of 200 ns, an activation of 40 and a copy of 20; copies in and out of 4 and 3."""
    p = Program().step(0, 500)
    a = p.op("router", 0, 10)
    c = p.copy_in(12, 16, "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 16, 216, "sidecar/1/up", device=1, after=[c])
    e = p.op("silu_elementwise_kernel", 216, 256, "sidecar/1/up", device=1, after=[d])
    f = p.op("direct_copy_kernel_cuda", 256, 276, "sidecar/1/up", device=1, after=[e])
    g = p.copy_out(276, 279, "sidecar/1/copy_out", after=[f])
    p.op("add", 290, 292, "layer/1/accumulate", after=[a, g])
    return p.sidecar()


def one_call(hot: int = 20) -> Program:
    """A call in each of two steps."""
    p = Program()
    for n in (0, 1):
        p.step(n, 200).call(1, rows=1, fork=10, hot=hot)
    return p


def test_a_join_of_two_calls_counts_once_in_every_sum():
    answer = two_sidecars().sidecar()
    document = sidecar_document(answer)
    (layer,), (step,), (rows,) = document["by_layer"], document["by_step"], document["per_rows"]
    assert (layer["calls"], layer["join_wait_us"]) == (2, pytest.approx(0.017)), "the mean call: (16 + 18) / 2"
    assert (step["step"], step["calls"], step["join_wait_ns"]) == (0, 2, 18)
    for one in (layer, rows, document["all"]):
        assert one["join_wait_us_per_step"] == pytest.approx(0.018)
    assert document["join_wait_us_per_step"] == pytest.approx(0.018)
    lines = list(csv.DictReader(io.StringIO(calls_csv(answer))))
    assert [(line["join_wait_ns"], line["counted_wait_ns"]) for line in lines] == [("16", "0"), ("18", "18")]
    words = "2 calls share a join with another call: of those only the longest wait counts for the step"
    assert words in said(answer) and words in document["waits_said"][0]


def test_calls_with_a_join_each_share_none():
    answer = one_call().sidecar()
    assert not any("share a join" in sentence for sentence in answer.waits_said)
    assert [row.counted_wait_ns for row in answer.table] == [row.join_wait_ns for row in answer.table] == [12, 12]


def test_waits_below_the_clocks_bound_are_counted_where_they_are():
    """The clocks agree within 3 ns; the wait of step 1 is 2."""
    p = Program()
    for n, hot in enumerate((20, 30)):
        p.step(n, 200).call(1, rows=1, fork=10, hot=hot)
    document = sidecar_document(p.sidecar())
    assert (document["clock_offset_bound_ns"], document["below_bound"]) == (3, 1)
    assert [layer["below_bound"] for layer in document["by_layer"]] == [1]
    assert [step["below_bound"] for step in document["by_step"]] == [0, 1]
    assert document["waits_said"] == ["1 of 2 waits are shorter than the clocks of the cards can tell (3 ns)."]


def test_every_kind_of_a_phase_is_in_the_document():
    (group,) = sidecar_document(copies_inside())["per_rows"]
    kinds = group["phase_kinds_mean_us"]
    assert list(kinds) == ["copy_in", "up_gate", "copy_out", "wake_up"]
    assert kinds["up_gate"] == pytest.approx({"gemm": 0.2, "elementwise": 0.04, "copy": 0.02})
    assert list(kinds["up_gate"]) == ["gemm", "elementwise", "copy"], "the largest first"
    for phase, us in group["phases_mean_us"].items():
        assert sum(kinds[phase].values()) == pytest.approx(us)
    assert group["parts_mean_us"] == pytest.approx({"copying": 0.027, "computing": 0.24, "gaps": 0.011})
    assert sum(group["parts_mean_us"].values()) == pytest.approx(group["mean_us"])


def test_copying_in_a_phase_goes_on_a_further_line_rather_than_vanish():
    """200 + 40 + 20 of 260 ns are 77, 15 and 8 %."""
    lines = shown(copies_inside())
    at = next(i for i, line in enumerate(lines) if line.startswith("up_gate"))
    column = lines[at].index("gemm 77 %")
    assert [line[column:] for line in lines[at : at + 3]] == ["gemm 77 %", "elementwise 15 %", "copy 8 %"]
    assert max(map(len, lines)) <= 80


def test_small_phases_share_a_line_that_tells_their_copying():
    """Copies of 1 ns in and out of a call of about 1000; between them gaps of 2 and 2."""
    p = Program().step(0, 2000)
    a = p.op("router", 0, 10)
    b = p.op("hot_gemm", 10, 1500, after=[a])
    c = p.copy_in(12, 13, "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 15, 1015, "sidecar/1/up", device=1, after=[c])
    e = p.copy_out(1017, 1018, "sidecar/1/copy_out", after=[d])
    p.op("add", 1501, 1503, "layer/1/accumulate", after=[b, e])
    line = next(line for line in shown(p.sidecar()) if "smaller ones" in line)
    assert line.startswith("(4 smaller ones)") and line.endswith("gap 67 % · copy 33 %")


def test_a_share_that_rounds_to_nothing_is_still_there():
    p = Program().step(0, 2000)
    a = p.op("router", 0, 10)
    c = p.copy_in(12, 40, "sidecar/1/copy_in", after=[a])
    d = p.op("w_gemm", 40, 1040, "sidecar/1/up", device=1, after=[c])
    e = p.op("direct_copy_kernel_cuda", 1040, 1042, "sidecar/1/up", device=1, after=[d])
    p.copy_out(1042, 1070, "sidecar/1/copy_out", after=[e])
    assert any(line.endswith("gemm 100 % · copy <1 %") for line in shown(p.sidecar()))


def test_class_runs_tell_their_steps_and_warnings_by_name():
    unknown = Program().step(0, 200)
    a = unknown.op("router", 0, 10)
    c = unknown.copy_in(12, 14, "sidecar/1/copy_in", after=[a])
    d = unknown.op("w_gemm", 16, 20, "sidecar/1/up", device=1, after=[c])
    unknown.op(
        "add", 30, 32, "layer/1/accumulate", after=[a, unknown.copy_out(21, 24, "sidecar/1/copy_out", after=[d])]
    )
    answer = one_call().sidecar(chosen=[1])
    both = beside_runs(answer, [("prose", one_call(hot=30).sidecar()), ("code", unknown.sidecar())])
    classes = sidecar_document(both)["classes"]
    assert [(c["name"], c["own_run"], c["steps"], c["steps_used"]) for c in classes] == [
        ("prose", True, 2, "0:2"),
        ("code", True, 1, "0:1"),
    ]
    told = [w["text"] for w in both.warnings if w.get("class") == "code" and w["code"] == "rows_unknown"]
    assert len(told) == 1 and told[0].startswith("class code: 1 calls do not say how many rows they had")
    assert f"warning: {told[0]}" in said(both)
    assert "steps of --class runs: prose 0:2; code 0:1" in said(both)
    assert "--step and --steps choose those of TRACE alone" in said(both)


def test_classes_of_facts_have_steps_of_the_trace():
    p = Program()
    for n, name in enumerate(("code", "prose", "code")):
        p.step(n, 200).call(4, rows=1, fork=10, hot=20)
        p.trace.step_fact(n, class_=name)
    answer = p.sidecar()
    assert [(c.name, c.own_run, c.steps_used) for c in answer.classes] == [
        ("code", False, "0:1, 2:3"),
        ("prose", False, "1:2"),
    ]
    assert "--class runs" not in said(answer)


def test_words_of_the_document_are_those_of_the_terminal():
    answer = one_call().sidecar()
    document, text = sidecar_document(answer), said(answer)
    assert document["rows_said"] == "rows by marks (as captured)"
    for key in ("rows_said", "fit_said", "headroom_said", "floor_said", "clocks_said"):
        assert document[key] and document[key] in text


def answered(early: int = 0, called: int = 0) -> Sidecar:
    """Main is ready at 20, the answer is there at 32, the join starts at 35."""
    p = Program().step(0, 200)
    p.call(1, rows=1, fork=10, hot=20, early=early, called=called)
    return p.sidecar()


def test_clocks_are_said_to_agree_or_to_be_apart():
    assert "clocks of the cards agree within 3 ns; shorter waits carry a <" in said(answered())
    apart = said(answered(early=8))
    assert "clocks of the cards are 6 to 11 ns apart; waits shorter than that carry a <" in apart
    assert "agree within" not in apart


def test_an_answer_that_the_host_follows_late_saves_less_than_the_wait():
    """The join is called at 33, when the answer has been there: of the wait of 12 ns only 2 would go."""
    assert "with the wake-ups after them 0.000 ms: about what an answer that is there at once saves" in said(answered())
    late = answered(called=33)
    assert (late.join_wait_us_per_step, late.held_us_per_step) == (pytest.approx(0.012), pytest.approx(0.002))
    assert "an answer that is there at once saves about 0.000 ms of that, with the wake-ups" in said(late)


def test_a_layer_tells_how_many_of_its_waits_may_be_none():
    """Clocks agree within 3 ns: the wait of 2 may be none, that of 12 is one."""
    p = Program()
    for n, hot in enumerate((20, 30)):
        p.step(n, 200).call(1, rows=1, fork=10, hot=hot)
    (line,) = [line for line in shown(p.sidecar()) if line.startswith("1  ")][-1:]
    assert line.endswith("(1 <)")


def test_what_tracing_did_to_a_run_of_class_is_told():
    run = replace(answered(), inflation=TracingInflation(1.18, (1.16, 1.19)))
    beside = beside_runs(answered(), [("code", run), ("prose", answered())])
    assert "code 0:1, traced 1.18 times as long as untraced; prose 0:1 (all" in said(beside)
    assert [one["tracing_inflation"] for one in sidecar_document(beside)["classes"]] == [1.18, None]
