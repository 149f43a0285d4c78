"""Kineto traces of the corpus against independent counts, tolerance 0.

The folder in STEPPROF_TRACE_CORPUS holds the traces and expected.json; skipped without it.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run

CORPUS = os.environ.get("STEPPROF_TRACE_CORPUS")
# peer copies name their context otherwise (inContext); the counts took that for none
COUNTED_CONTEXT = "CASE WHEN src_device IS NULL THEN context END"
GRAPH_LAUNCH = "text SIMILAR TO '(cuda|cu|hip)GraphLaunch.*'"


def expected_files() -> dict[str, Any]:
    if CORPUS is None:
        return {}
    files = json.loads((Path(CORPUS) / "expected.json").read_text())["files"]
    return {name: wanted for name, wanted in files.items() if wanted["format"] == "kineto-json"}


EXPECTED = expected_files()
pytestmark = pytest.mark.skipif(not EXPECTED, reason="STEPPROF_TRACE_CORPUS is not set")


@pytest.fixture(params=EXPECTED or ["none"], scope="module")
def run(request, tmp_path_factory) -> Iterator[tuple[Store, dict[str, Any]]]:
    out = tmp_path_factory.mktemp("corpus") / "run.duckdb"
    import_run(Path(CORPUS or "") / request.param, out, Extras())
    store = open_run(out)
    yield store, EXPECTED[request.param]
    store.close()


def union_ns(rows: list[tuple[int, int]]) -> int:
    """Length of the union of intervals that are sorted by start."""
    if not rows:
        return 0
    start, end = np.array(rows).T
    reached = np.maximum.accumulate(end)
    return int((np.maximum(end - np.maximum(start, np.r_[start[0], reached[:-1]]), 0)).sum())


def intervals(store: Store, where: str = "true") -> list[tuple[int, int]]:
    return store.rows(f"SELECT start_ns, end_ns FROM op WHERE {where} ORDER BY start_ns")


def totals(store: Store, where: str = "true") -> dict[str, int]:
    rows = intervals(store, where)
    return {"ops": len(rows), "union_ns": union_ns(rows), "sum_ns": sum(end - start for start, end in rows)}


def test_counts(run):
    store, wanted = run
    found = {
        "kernels": store.value("SELECT count(*) FROM op WHERE activity = 'kernel'"),
        "memcpys": store.value("SELECT count(*) FROM op WHERE activity = 'memcpy'"),
        "memsets": store.value("SELECT count(*) FROM op WHERE activity = 'memset'"),
        "runtime_calls": store.value("SELECT count(*) FROM api"),
        "ranges": store.value("SELECT count(*) FROM range"),
    }
    assert found == {key: wanted["counts"][key] for key in found}


def test_devices(run):
    store, wanted = run
    named = dict(store.rows("SELECT device::VARCHAR, name FROM device"))
    assert named == {key: name or None for key, name in wanted["devices"].items()}


def test_joins(run):
    store, wanted = run
    join = wanted["join"]
    joined = "FROM op JOIN api USING (process, correlation) WHERE activity = 'kernel'"
    alone = store.value("SELECT count(*) FROM op ANTI JOIN api USING (process, correlation)")
    assert store.value("SELECT count(DISTINCT process) FROM op") == join.get("processes_with_gpu_ops", 0)
    assert alone == join.get("ops_without_runtime_row", 0)
    assert store.value(f"SELECT count(*) {joined}") == join.get("kernels_joined_on_pid_correlation", 0)


def test_gpu_time(run):
    store, wanted = run
    gpu = wanted.get("gpu")
    if not gpu:
        assert store.value("SELECT count(*) FROM op") == 0
        return
    found = totals(store) | {
        "streams": store.value(f"SELECT count(*) FROM (SELECT DISTINCT device, stream, {COUNTED_CONTEXT} FROM op)"),
        "span_ns": store.value("SELECT max(end_ns) - min(start_ns) FROM op"),
        "zero_duration": store.value("SELECT count(*) FROM op WHERE start_ns = end_ns"),
    }
    assert found == {key: gpu[key] for key in found}
    for device, each in gpu["per_device"].items():
        first, last = store.rows("SELECT min(start_ns), max(end_ns) FROM op WHERE device = ?", int(device))[0]
        assert totals(store, f"device = {device}") == {key: each[key] for key in ("ops", "union_ns", "sum_ns")}
        assert last - first == each["last_end"] - each["first_start"]


def test_graphs(run):
    store, wanted = run
    graphs = wanted["graphs"]
    launches = f"SELECT process, correlation FROM api JOIN name USING (name_id) WHERE {GRAPH_LAUNCH}"
    fan_out = store.rows(
        f"""SELECT ops::VARCHAR, count(*) FROM (
                SELECT count(*) AS ops FROM op JOIN ({launches}) USING (process, correlation) GROUP BY process, correlation
            ) GROUP BY ops"""
    )
    assert store.value(f"SELECT count(*) FROM ({launches})") == graphs["launches"]
    assert dict(fan_out) == graphs["fan_out"]
    assert store.value("SELECT count(*) FROM op WHERE graph_node IS NOT NULL") == graphs["ops_with_graph_node_id"]


def test_no_warning_but_those_the_file_deserves(run):
    store, wanted = run
    codes = {code for (code,) in store.rows("SELECT code FROM warning")}
    deserved = {"op_zero_length", "op_without_call", "no_gpu_ops", "rocm"}
    assert codes <= deserved
    assert ("no_gpu_ops" in codes) == (not wanted.get("gpu"))
