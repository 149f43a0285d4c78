"""The report's further sections: the documents of --json, refusals with the way out, warnings said once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import Question, attribute
from stepprof.analyses.compare.comparison import compared, sample_of
from stepprof.analyses.compare.launches import launch_of_store
from stepprof.analyses.sidecar.answer import sidecar
from stepprof.analyses.speculation.answer import Ask, speculate
from stepprof.analyses.speculation.draft_lanes import Given
from stepprof.analyses.speculation.step_records import traced_records
from stepprof.profiler.report.colours import phase_colours, role_colours
from stepprof.profiler.report.document import plain_document
from stepprof.profiler.report.document_compare import comparison_document
from stepprof.profiler.report.document_sidecar import sidecar_document
from stepprof.profiler.report.html import sections as module
from stepprof.profiler.report.html.beside import Beside, asked
from stepprof.profiler.report.html.data import report_data
from stepprof.profiler.report.html.sections import sections
from tests.profiler.report.two_branches import two_branches
from tests.profiler.report.whole_report import FLOOR, TRACE, whole_beside, with_facts
from tests.real_runs import attributed, run_of
from tests.trace_builder import TraceBuilder


def launches(*lengths: int) -> list[Any]:
    """A launch for each length of the op `b`, in steps of 1000 ns."""
    samples: list[Any] = []
    for length in lengths:
        made = TraceBuilder()
        for n in (0, 1, 2):
            at = 1000 * n
            made.range(f"step/{n}", at, at + 900)
            made.kernel("a", at + 20, at + 30, call=(at + 5, at + 8))
            made.kernel("b", at + 30, at + 30 + length, call=(at + 9, at + 12))
        samples.append(sample_of(launch_of_store(made.store())))
    return samples


def test_every_section_holds_the_document_of_json(tmp_path: Path):
    store, found = run_of(TRACE, edges=True), attributed(TRACE, edges=True)
    beside = whole_beside(tmp_path)
    data = sections(beside)
    assert data["sidecar"]["document"] == sidecar_document(sidecar(store, found, None, FLOOR))
    assert data["whatif"]["document"] == plain_document(beside.whatif)
    assert (data["whatif"]["scores"]["scored"][0]["proposal"], data["whatif"]["scores"]["pending"]) == ("norms", [])
    assert beside.comparison is not None
    document = comparison_document(beside.comparison)
    assert {key: value for key, value in data["comparison"]["document"].items() if key != "ops"} == {
        key: value for key, value in document.items() if key != "ops"
    }
    assert [(s["rows"], round(s["saved_us"], 1), s["verdict"]) for s in data["bench"]["savings"]] == [
        (1, 2.4, "no"),
        (2, -1.0, "no"),
        (4, 2.3, "no"),
    ]


def test_what_cannot_be_known_is_refused_with_the_way_out(tmp_path: Path):
    refusals = {one["question"]: one["text"] for one in sections(whole_beside(tmp_path))["refusals"]}
    assert list(refusals) == ["tokens/s", "What tracing costs", "Comparison"]
    assert "--facts FILE.jsonl" in refusals["tokens/s"]
    assert refusals["Comparison"].endswith("add launches to each arm.")
    assert "record with stepprof capture" in refusals["What tracing costs"]


def test_a_trace_without_a_sidecar_has_no_such_section():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 8))
    store = trace.range("step/1", 100, 200).kernel("a", 120, 130, call=(105, 108)).store()
    data = report_data(store, attribute(store))
    assert "sidecar" not in data and "whatif" not in data and "comparison" not in data and "bench" not in data
    assert data["refusals"][0]["question"] == "Sidecar" and "built.duckdb" in data["refusals"][0]["text"]


def test_tokens_a_second_are_those_of_speculate():
    store = with_facts().store()
    found = attribute(store)
    data = report_data(store, found)
    assert data["speculation"] == plain_document(speculate(Ask(), Given(), traced_records(store, Question())))
    assert data["speculation"]["lanes"][0]["tokens_per_s"] == {
        "value": pytest.approx(12 / 0.03), "kind": "measured", "low": None, "high": None
    }  # fmt: skip
    assert "tokens/s" not in {one["question"] for one in data["refusals"]}


def test_a_control_on_record_is_no_refusal():
    store = two_branches().add("manifest", key="tracing_inflation", value="1.25").store()
    questions = {one["question"] for one in report_data(store, attribute(store))["refusals"]}
    assert questions == {"Sidecar", "tokens/s"}


def test_arms_of_two_launches_are_answered():
    found = compared(launches(100, 102), launches(300, 302))
    document = sections(Beside(comparison=found))["comparison"]["document"]
    gaps = {row["key"]: (row["delta_ns"], row["beyond"]) for row in document["rows"]["gap"]}
    assert gaps["sync"] == (-200.0, True) and gaps["host"] == gaps["launch"] == (0.0, False)
    assert document["ops"]["aligned"][0]["short"] == "1 b"
    assert document["ops"]["aligned"][0]["delta_ns"] == 200.0


def test_long_lists_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    comparison = whole_beside(tmp_path).comparison
    whole = sections(Beside(comparison=comparison))["comparison"]
    monkeypatch.setattr(module, "OPS", 5)
    part = sections(Beside(comparison=comparison))["comparison"]
    for name in ("aligned", "appeared", "vanished"):
        every = len(whole["document"]["ops"][name]) + whole["left_out"][name]
        assert len(part["document"]["ops"][name]) == 5
        assert part["left_out"][name] == every - 5
        assert part["document"]["ops"][name] == whole["document"]["ops"][name][:5]


def test_a_warning_of_two_sections_is_said_once():
    store, found = run_of(TRACE, edges=True), attributed(TRACE, edges=True)
    beside = asked(store, found, found.steps.usable)
    assert beside.sidecar is not None
    warning = {"code": "x", "count": 1, "text": "once"}
    both = replace(
        beside,
        sidecar=replace(beside.sidecar, warnings=[warning, warning]),
        comparison=replace(compared(launches(100), launches(101)), warnings=[warning]),
    )
    assert sections(both)["warnings"] == [{"code": "x", "text": "once", "sections": ["Sidecar", "Comparison"]}]


def test_phases_take_the_colours_of_their_roles_and_gaps_are_grey():
    colours, roles = phase_colours(["copy_in", "gap:copy_in→gather", "gather", "mine", "wake_up"]), role_colours()
    assert (colours["copy_in"], colours["gather"]) == (roles["sidecar_copy"], roles["sidecar_gather"])
    for grey in (colours["gap:copy_in→gather"], colours["wake_up"]):
        assert len({grey[1:3], grey[3:5], grey[5:7]}) == 1
    assert colours["gap:copy_in→gather"] != colours["wake_up"]
    assert len(set(colours.values())) == 5
