"""Launches that left a run file: figures of its ops, its settings, what tracing cost."""

import shutil
from io import StringIO
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.gates.running import Order
from stepprof.analyses.gates.verdict import Answer, verdict_on
from stepprof.profiler.commands.shared import opened
from stepprof.profiler.errors import Refused
from stepprof.profiler.report.document_gates import verdict_document
from stepprof.profiler.report.receipt import receipt
from stepprof.profiler.report.terminal_gates import show_verdict
from tests.analyses.gates.gates import Gate
from tests.real_runs import attributed, run_of

DEMO = "h200x2_overlap.sqlite"


def gate(folder: Path, *manifest: tuple[str, str], **fields: object) -> Gate:
    """Four launches that all leave the demo capture, candidates with these entries in their manifest."""
    made = Gate(folder).register(instrument="traced", **fields)
    source = run_of(DEMO).path

    def launcher(order: Order) -> int:
        shutil.copy(source, order.folder / "run.duckdb")
        if order.slot.arm == "B" and manifest:
            with duckdb.connect(str(order.folder / "run.duckdb")) as con:
                con.executemany("INSERT INTO manifest VALUES (?, ?)", [list(entry) for entry in manifest])
        return 0

    made.launch(launcher)
    return made


def verdict(made: Gate) -> Answer:
    return verdict_on(made.ledger, "g", opened, lambda command: True)


def test_the_exposed_time_of_a_role(tmp_path):
    """What breakdown says of the capture's attention, from every launch; their difference is 0."""
    found = attributed(DEMO)
    answer = verdict(gate(tmp_path, metric="exposed_ms:attention", bar=-0.1))
    row = next(row for row in breakdown(found).rows if row.key == "attention")
    assert [one.reading.value for one in answer.evidence if one.reading] == [row.exposed_ns / 1e6] * 4
    assert (answer.verdict, answer.met) == ("FAIL", False)
    assert [warning["code"] for warning in answer.warnings] == ["tracing_cost_unknown"]


@pytest.mark.parametrize("ratio", ["1.32", "0.81"])
def test_the_cost_of_tracing_is_told(tmp_path, ratio):
    made = gate(tmp_path, ("tracing_inflation", ratio), bar=-0.1)
    inflated = next(warning for warning in verdict(made).warnings if warning["code"] == "tracing_inflation")
    assert inflated["count"] == 2 and f"up to {ratio} times as long: gate run --untraced" in inflated["text"]


def test_what_tracing_did_is_told_of_each_launch(tmp_path):
    """Controls without a control run of their own, candidates with one: in the document, for a person, in the receipt."""
    entries = [("tracing_inflation", "1.02"), ("tracing_inflation_low", "0.99"), ("tracing_inflation_high", "1.06")]
    answer = verdict(gate(tmp_path, *entries, bar=-0.1))
    told = [
        (one["arm"], one["tracing_inflation"], one["tracing_inflation_interval"])
        for one in verdict_document(answer)["launches"]
    ]
    assert told == [("A", None, None), ("B", 1.02, [0.99, 1.06]), ("B", 1.02, [0.99, 1.06]), ("A", None, None)]
    out = StringIO()
    show_verdict(Console(file=out, width=80, soft_wrap=True), answer)
    for text in (" ".join(out.getvalue().split()), receipt(answer)):
        assert "000-A, 003-A: tracing cost unknown (no untraced control on record)" in text
        assert "001-B, 002-B: tracing makes a step 1.02 times as long as untraced (0.99 to 1.06)" in text
    assert "tracing_inflation" not in [warning["code"] for warning in answer.warnings]


def test_settings_of_run_files_count(tmp_path):
    made = gate(tmp_path, ("environment", '{"VLLM_SHARE": "ab"}'), bar=-0.1, differs=["VLLM_SHARE"])
    assert [(one.setting, one.candidate) for one in verdict(made).settings] == [("env:VLLM_SHARE", ["ab"])]
    undeclared = gate(tmp_path / "other", ("torch_version", "2.12"), bar=-0.1)
    with pytest.raises(Refused, match=r"not declared in differs: torch_version \(unset\) against 2.12"):
        verdict(undeclared)


def test_a_run_without_steps_is_no_data(tmp_path):
    made = gate(tmp_path, marker="^nothing$", bar=-0.1)
    answer = verdict(made)
    assert answer.verdict == "NO_DATA" and "no steps found" in answer.reason


def test_a_launch_that_does_not_count_is_kept_all_the_same(tmp_path):
    """A crashed launch whose folder was thrown away refuses the verdict."""
    made = Gate(tmp_path).register()
    made.run(A=[7, 10.0, 10.1], B=[9.0, 9.1])
    assert made.verdict().crashed == 1
    shutil.rmtree(made.folder / "000-A")
    with pytest.raises(Refused, match=r"000-A/result.json is gone"):
        made.verdict()
