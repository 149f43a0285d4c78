"""Operators of the CPU stand in for GPU ops: only where a capture asks, innermost first, no time twice."""

from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.errors import Refused
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run
from tests.profiler.ingest.kineto_documents import call, document, event, kernel

# a step of 20 µs: linear (2 to 12) calls t (2 to 3) and addmm (4 to 10), which calls expand (4 to 5); then relu
STEP = [
    event("user_annotation", "step/0", 0, 20),
    event("user_annotation", "layer/0/lm_head", 1, 12),
    event("cpu_op", "aten::linear", 2, 10),
    event("cpu_op", "aten::t", 2, 1),
    event("cpu_op", "aten::addmm", 4, 6),
    event("cpu_op", "aten::expand", 4, 1),
    event("cpu_op", "aten::relu", 15, 3),
]
PIECES = [
    ("aten::t", 2000, 3000), ("aten::linear", 3000, 4000), ("aten::expand", 4000, 5000), ("aten::addmm", 5000, 10000),
    ("aten::linear", 10000, 12000), ("aten::relu", 15000, 18000),
]  # fmt: skip


def run(folder: Path, *events: Any, asked: bool = True) -> Store:
    (folder / "t.json").write_text(document(*events, deviceProperties=[]))
    import_run(folder / "t.json", folder / "r.duckdb", Extras(), force=True, cpu_stand_in=asked)
    return open_run(folder / "r.duckdb")


def pieces(store: Store) -> list[tuple[Any, ...]]:
    return store.rows("SELECT text, start_ns, end_ns FROM op JOIN name USING (name_id) ORDER BY start_ns, end_ns")


def test_the_innermost_operator_counts_at_each_moment(tmp_path):
    assert pieces(run(tmp_path, *STEP)) == PIECES


def test_the_order_of_events_does_not_matter(tmp_path):
    assert pieces(run(tmp_path, *reversed(STEP))) == PIECES


def test_threads_are_apart_and_an_operator_without_length_is_kept(tmp_path):
    other = event("cpu_op", "aten::mm", 3, 4, tid=7)
    found = pieces(run(tmp_path, other, event("cpu_op", "aten::t", 2, 0), event("cpu_op", "aten::mul", 2, 6)))
    assert found == [("aten::t", 2000, 2000), ("aten::mul", 2000, 8000), ("aten::mm", 3000, 7000)]


def test_operators_of_the_same_times_count_once(tmp_path):
    store = run(tmp_path, event("cpu_op", "aten::to", 2, 6), event("cpu_op", "aten::copy_", 2, 6))
    assert store.value("SELECT sum(end_ns - start_ns) FROM op") == 6000


def test_a_step_adds_up_with_labels_and_a_warning(tmp_path):
    found = attribute(run(tmp_path, *STEP))
    result = breakdown(found)
    assert result.totals == {"wall_ns": 20_000, "exposed_ns": 13_000, "gap_ns": 7_000}
    assert {row.key: row.exposed_total_ns for row in result.rows} == {"lm_head": 10_000, "unknown": 3_000}
    assert {gap.class_: gap.exposed_total_ns for gap in result.gaps} == {"host": 5_000, "sync": 2_000}
    assert [(w["code"], w["count"]) for w in result.warnings if w["code"] == "cpu_stand_in"] == [("cpu_stand_in", 6)]


def test_kinds_come_from_the_operators_names(tmp_path):
    rows = {row.key: row.work_ns for row in breakdown(attribute(run(tmp_path, *STEP)), by="kind").rows}
    assert rows == {"gemm": 8_000, "elementwise": 3_000, "other": 2_000}


def test_unless_it_is_asked_for_a_trace_without_kernels_is_refused(tmp_path):
    store = run(tmp_path, *STEP, asked=False)
    assert store.value("SELECT count(*) FROM op") == 0
    with pytest.raises(Refused, match="no GPU activity is on record"):
        attribute(store)


def test_gpu_ops_need_no_stand_in(tmp_path):
    store = run(tmp_path, *STEP, call(1), kernel(10))
    assert pieces(store) == [("gemm", 10000, 11000)]
    assert "cpu_stand_in" not in [w["code"] for w in store.warnings()]
