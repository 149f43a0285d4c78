"""Real nsys exports come in with the counts, joins and GPU times found by an independent count.

Needs the folder of traces with its expected.json in STEPPROF_TRACE_CORPUS; skipped without it.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.store import Store, open_run

CORPUS = Path(os.environ.get("STEPPROF_TRACE_CORPUS", ""))
LEFT_OPEN = {"public/centerformer_poolformer.sqlite": 4}  # its capture stopped inside four nested ranges


def expected() -> dict[str, Any]:
    """What must be found, by file; nothing where there is no corpus."""
    if "STEPPROF_TRACE_CORPUS" not in os.environ:
        return {}
    files = json.loads((CORPUS / "expected.json").read_text())["files"]
    return {name: found for name, found in files.items() if found["format"] == "nsys-sqlite"}


EXPECTED = expected()

pytestmark = pytest.mark.skipif(not EXPECTED, reason="STEPPROF_TRACE_CORPUS names no corpus")

JOINS = """
SELECT
    (SELECT count(*) FROM op ANTI JOIN api USING (process, correlation)) AS ops_without_runtime_row,
    (SELECT count(*) FROM op JOIN api USING (process, correlation) WHERE activity = 'kernel')
        AS kernels_joined_on_pid_correlation,
    (SELECT count(*) FROM op JOIN api USING (correlation) WHERE activity = 'kernel') AS rows_if_joined_on_correlation_alone,
    (SELECT count(DISTINCT process) FROM op) AS processes_with_gpu_ops,
    (SELECT count(*) FROM (SELECT correlation FROM api GROUP BY 1 HAVING count(DISTINCT process) > 1 AND correlation IS NOT NULL))
        AS call_correlation_ids_in_2plus_processes,
    (SELECT count(*) FROM (
        SELECT correlation FROM op WHERE activity = 'kernel' GROUP BY 1
        HAVING count(DISTINCT process) > 1 AND correlation IS NOT NULL
    )) AS kernel_correlation_ids_in_2plus_processes
"""

LAUNCHES = """
SELECT a.process, a.correlation, count(o.op_id) AS ops
FROM api a JOIN name USING (name_id) LEFT JOIN op o USING (process, correlation)
WHERE text SIMILAR TO '(cuda|cu)GraphLaunch.*' GROUP BY ALL
"""

# the running maximum of ends tells where an op reaches beyond all before it
UNION = """
SELECT device, count(*) AS ops, sum(added)::BIGINT AS union_ns, sum(end_ns - start_ns)::BIGINT AS sum_ns,
    min(start_ns) AS first_start, max(end_ns) AS last_end
FROM (
    SELECT device, start_ns, end_ns, greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
        PARTITION BY device ORDER BY start_ns, end_ns, op_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))) AS added
    FROM op
) GROUP BY device ORDER BY device
"""


@cache
def run(name: str, folder: Path) -> Store:
    """The run of a corpus file, which may be packed."""
    trace = next(path for path in (CORPUS / name, CORPUS / f"{name}.gz") if path.exists())
    out = folder / f"{trace.name}.duckdb"
    import_run(trace, out, Extras())
    return open_run(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(params=EXPECTED)
def case(request: pytest.FixtureRequest, folder: Path) -> tuple[Store, dict[str, Any]]:
    """A run and what must be found in it."""
    return run(request.param, folder), EXPECTED[request.param] | {"left_open": LEFT_OPEN.get(request.param, 0)}


Case = tuple[Store, dict[str, Any]]


def test_counts(case: Case):
    store, found = case
    names = {"kernels": "kernel", "memcpys": "memcpy", "memsets": "memset", "runtime_calls": "api", "ranges": "range"}

    counts = summary(store)["counts"]

    assert {key: counts[ours] for key, ours in names.items()} == {key: found["counts"][key] for key in names}
    assert counts["graph_launch"] == found["graphs"]["launches"]


def test_devices(case: Case):
    store, found = case
    assert {str(d["ordinal"]): d["name"] for d in summary(store)["devices"]} == found["devices"]


def test_ranges_left_open(case: Case):
    store, found = case
    assert store.value("SELECT count(*) FROM range WHERE left_open") == found["left_open"]


def test_joins(case: Case):
    store, found = case
    joins = store.frame(JOINS).iloc[0].to_dict()
    assert joins == {key: found["join"][key] for key in joins}


def test_graphs(case: Case):
    store, found = case
    launches = [ops for _, _, ops in store.rows(LAUNCHES)]
    graphs = {
        "launches": len(launches),
        "launches_with_kernels": sum(ops > 0 for ops in launches),
        "ops_on_graph_launch_correlation": sum(launches),
        "fan_out": {str(ops): launches.count(ops) for ops in launches},
        "ops_with_graph_node_id": store.value("SELECT count(*) FROM op WHERE graph_node IS NOT NULL"),
        "graph_trace_rows": int(store.fact("graph_trace_rows") or 0),
    }
    assert graphs == {key: found["graphs"][key] for key in graphs}


def test_gpu_times(case: Case):
    store, found = case
    per_device = store.frame(UNION).set_index("device")
    if "gpu" not in found:
        assert per_device.empty
        return
    gpu = {
        "ops": store.value("SELECT count(*) FROM op"),
        "streams": store.value("SELECT count(*) FROM (SELECT DISTINCT process, device, context, stream FROM op)"),
        "span_ns": store.value("SELECT max(end_ns) - min(start_ns) FROM op"),
        "sum_ns": store.value("SELECT sum(end_ns - start_ns)::BIGINT FROM op"),
        "per_device": {str(device): row for device, row in per_device.to_dict("index").items()},
    }
    assert gpu == {key: found["gpu"][key] for key in gpu}
