"""An nsys export comes in with the values it has, whatever its version; what cannot be true is counted and left out.

Ranges, graphs, events and devices: test_nsys_rows.py. Files that are odd as files: test_importer.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stepprof.profiler.ingest.importer import summary
from stepprof.profiler.store import Store
from tests.trace_builder import NSYS_TABLES, NsysExport, global_id

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
Import = Callable[[NsysExport], Store]  # fixture of conftest.py


def launched() -> NsysExport:
    """One kernel, 100 to 130, with its launch."""
    return NsysExport().api("cudaLaunchKernel_v7000", 80, 85).kernel("gemm", 100, 130)


def warnings(store: Store) -> dict[str, int]:
    return {w["code"]: w["count"] for w in store.warnings()}


def test_a_kernel_and_its_call(imported: Import):
    shape = {"gridX": 4, "gridY": 2, "gridZ": 1, "blockX": 128, "blockY": 1, "blockZ": 1, "registersPerThread": 40}
    export = NsysExport().api("cudaLaunchKernel_v7000", 80, 85, tid=9, correlation=3)
    export.kernel("gemm", 100, 130, correlation=3, staticSharedMemory=16, dynamicSharedMemory=48, launchType=1, **shape)

    store = imported(export)

    assert store.rows(
        """SELECT activity, process, device, context, stream, correlation, start_ns, end_ns, text, graph_node, launch_type,
               grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared_bytes, bytes
           FROM op JOIN name USING (name_id)"""
    ) == [("kernel", 100, 0, 1, 7, 3, 100, 130, "gemm", None, 1, 4, 2, 1, 128, 1, 1, 40, 64, None)]
    assert store.rows("SELECT process, thread, correlation, start_ns, end_ns, text, result FROM api JOIN name USING (name_id)") == [
        (100, 9, 3, 80, 85, "cudaLaunchKernel", 0)
    ]  # fmt: skip
    assert store.rows("FROM process") == [(100, 100, 0)]
    assert store.warnings() == []


def test_copies_and_memsets(imported: Import):
    export = launched().memcpy(10, 200, 220, bytes=64, srcDeviceId=0, dstDeviceId=1)
    export.memcpy(99, 230, 240).memset(250, 260, bytes=32)

    store = imported(export)

    assert store.rows(
        """SELECT activity, text, start_ns, bytes, copy_kind, src_device, dst_device
           FROM op JOIN name USING (name_id) WHERE activity <> 'kernel' ORDER BY start_ns"""
    ) == [
        ("memcpy", "[CUDA memcpy Peer-to-Peer]", 200, 64, 10, 0, 1),
        ("memcpy", "[CUDA memcpy]", 230, None, 99, None, None),
        ("memset", "[CUDA memset]", 250, 32, None, None, None),
    ]


def test_what_the_summary_says(imported: Import):
    export = launched().memcpy(1, 200, 220).range("step/0", 0, 300)
    export.api("cudaGraphLaunch_v10000", 310, 320, correlation=2).kernel("node", 330, 340, correlation=2)

    said = summary(imported(export))

    assert said["counts"] == {"kernel": 2, "memcpy": 1, "memset": 0, "api": 2, "range": 1, "graph_launch": 1}
    assert (said["format"], said["tool"]) == ("nsys-sqlite", "nsys 2025.3.2")
    assert said["devices"] == [{"ordinal": 0, "name": None}]


@pytest.mark.parametrize(
    ("recorded", "kept"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
        ("cuLaunchKernelEx_ptsz", "cuLaunchKernelEx"),
        ("cuStreamWaitEvent", "cuStreamWaitEvent"),
        ("custom_v2", "custom_v2"),
    ],
)
def test_api_names_lose_their_suffix(recorded: str, kept: str, imported: Import):
    store = imported(NsysExport().api(recorded, 1, 2))
    assert store.rows("SELECT text FROM name JOIN api USING (name_id)") == [(kept,)]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ({"demangledName": 11, "shortName": 12}, "void gemm<float>(float*)"),
        ({"demangledName": None, "shortName": 12}, "gemm"),
        ({"demangledName": None, "shortName": None}, "[no name]"),
        ({"demangledName": 999}, "<string 999 is missing>"),
    ],
    ids=["demangled", "short", "none", "dangling"],
)
def test_a_kernel_name(label: dict[str, int | None], name: str, imported: Import):
    export = launched().kernel("", 200, 210, **{"demangledName": None, "shortName": None} | label)
    export.add("StringIds", id=11, value="void gemm<float>(float*)").add("StringIds", id=12, value="gemm")

    store = imported(export)

    assert store.rows("SELECT text FROM op JOIN name USING (name_id) WHERE start_ns = 200") == [(name,)]
    assert warnings(store) == ({"name_missing": 1} if "missing" in name else {})


def test_a_dangling_id_is_not_taken_for_the_text_of_a_range(imported: Import):
    export = launched().range("step/0", 0, 50)
    export.kernel("x", 200, 210, demangledName=4)  # strings 1 to 3 exist; 4 would be the next free id

    store = imported(export)

    assert store.rows("SELECT text FROM op JOIN name USING (name_id) WHERE start_ns = 200") == [
        ("<string 4 is missing>",)
    ]
    assert store.rows("SELECT text FROM range JOIN name USING (name_id)") == [("step/0",)]


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (KERNEL, "shortName end correlationId demangledName globalPid streamId start deviceId contextId"),
        (KERNEL, "START End deviceId contextId streamId correlationId globalPid demangledName"),
        (KERNEL, "newColumn start end other deviceId contextId streamId correlationId globalPid shortName"),
        (RUNTIME, "nameId correlationId globalTid end start"),
    ],
    ids=["reordered", "other case", "columns added", "calls reordered"],
)
def test_columns_are_found_by_name(table: str, columns: str, imported: Import):
    export = launched().columns(table, columns)
    if columns.startswith("START"):
        export.add(KERNEL, START=100, End=130, deviceId=0, contextId=1, streamId=7, correlationId=1, demangledName=2)
        export.sql(f"DELETE FROM {KERNEL} WHERE START IS NULL").sql(f"UPDATE {KERNEL} SET globalPid = {global_id(100)}")

    store = imported(export)

    assert store.rows(
        """SELECT o.start_ns, o.end_ns, device, context, stream, text, a.start_ns, a.end_ns
           FROM op o JOIN api a USING (process, correlation) JOIN name n ON n.name_id = o.name_id"""
    ) == [(100, 130, 0, 1, 7, "gemm", 80, 85)]


@pytest.mark.parametrize(
    ("missing", "column"),
    [("graphNodeId", "graph_node"), ("contextId", "context"), ("streamId", "stream"), ("gridX", "grid_x")],
)
def test_a_missing_column_is_null(missing: str, column: str, imported: Import):
    present = "start end deviceId contextId streamId correlationId globalPid shortName gridX graphNodeId"
    export = launched().columns(KERNEL, present.replace(f" {missing}", ""))

    store = imported(export)

    assert store.rows(f"SELECT {column}, start_ns FROM op") == [(None, 100)]


@pytest.mark.parametrize("tables", [[], NSYS_TABLES], ids=["absent", "empty"])
def test_an_export_without_rows(tables: dict[str, str], imported: Import):
    export = NsysExport()
    for table in tables:
        export.columns(table, NSYS_TABLES[table])

    said = summary(imported(export))

    assert set(said["counts"].values()) == {0}
    assert said["devices"] == [] and said["warnings"] == []


BAD_TIMES: list[Any] = [
    pytest.param(None, 130, {"op_time_missing": 1}, id="NULL start"),
    pytest.param(100, None, {"op_time_missing": 1}, id="NULL end"),
    pytest.param(100.5, 130, {"op_time_missing": 1}, id="float"),
    pytest.param("soon", 130, {"op_time_missing": 1}, id="text"),
    pytest.param(b"\x01", 130, {"op_time_missing": 1}, id="blob"),
    pytest.param(130, 100, {"op_time_negative": 1}, id="negative"),
    pytest.param(0, 0, {"op_time_lost": 1}, id="lost"),
    pytest.param(10**15, 10**15 + 1, {"op_time_outside": 1}, id="outside"),
]


@pytest.mark.parametrize(("start", "end", "found"), BAD_TIMES)
def test_a_bad_op_is_counted_and_left_out(start: Any, end: Any, found: dict[str, int], imported: Import):
    store = imported(launched().kernel("bad", start, end))

    assert store.rows("SELECT start_ns, end_ns FROM op") == [(100, 130)]
    assert warnings(store) == found


def test_bad_ops_of_each_kind_are_counted_once_each(imported: Import):
    export = launched().kernel("bad", None, 5).memcpy(1, "x", 5).kernel("bad", 9, 5).memset(0, 0).memset(0, 0)

    store = imported(export)

    assert warnings(store) == {"op_time_missing": 2, "op_time_negative": 1, "op_time_lost": 2}
    assert store.value("SELECT count(*) FROM op") == 1


def test_a_bad_value_deep_in_a_table_costs_its_row_only(imported: Import):
    export = NsysExport().api("cudaLaunchKernel", 1, 2)
    for i in range(1, 20001):  # types are judged by the first 16,384 rows
        export.kernel("gemm", 10 * i, "late" if i == 19000 else 10 * i + 5)

    store = imported(export)

    assert store.rows("SELECT count(*), sum(end_ns - start_ns) FROM op") == [(19999, 5 * 19999)]
    assert warnings(store) == {"op_time_missing": 1}


def test_an_op_without_duration_is_kept_and_counted(imported: Import):
    store = imported(launched().kernel("tiny", 140, 140))

    assert store.rows("SELECT start_ns, end_ns FROM op ORDER BY 1") == [(100, 130), (140, 140)]
    assert warnings(store) == {"op_zero_length": 1}


@pytest.mark.parametrize("device", [None, "gpu"])
def test_an_op_without_a_device_is_counted_and_left_out(device: Any, imported: Import):
    store = imported(launched().kernel("lost", 200, 210, deviceId=device))

    assert store.rows("SELECT start_ns FROM op") == [(100,)]
    assert warnings(store) == {"op_device_missing": 1}


@pytest.mark.parametrize(("start", "end"), [(None, 5), (9, 5), ("x", 5)], ids=["NULL", "negative", "text"])
def test_a_bad_call_or_range_is_counted_and_left_out(start: Any, end: Any, imported: Import):
    store = imported(launched().api("cudaFree", start, end, correlation=2).range("bad", start, end).range("ok", 1, 2))

    assert store.rows("SELECT start_ns, end_ns FROM api") == [(80, 85)]
    assert store.rows("SELECT start_ns, end_ns FROM range") == [(1, 2)]
    assert warnings(store) == {"api_time_bad": 1, "range_time_bad": 1}


def test_a_row_recorded_twice_counts_once(imported: Import):
    export = launched().kernel("gemm", 100, 130).kernel("gemm", 100, 130).kernel("gemm", 100, 131)

    store = imported(export)

    assert store.rows("SELECT end_ns FROM op ORDER BY 1") == [(130,), (131,)]
    assert warnings(store) == {"op_duplicate": 2}


@pytest.mark.parametrize("none", [0, -1, None])
def test_no_correlation_joins_nothing(none: int | None, imported: Import):
    export = launched().api("cudaFree", 1, 2, correlation=none).kernel("orphan", 200, 210, correlation=none)

    store = imported(export)

    assert store.rows("SELECT start_ns, correlation FROM op ORDER BY 1") == [(100, 1), (200, None)]
    assert store.rows("SELECT start_ns, correlation FROM api ORDER BY 1") == [(1, None), (80, 1)]
    assert warnings(store) == {"op_without_call": 1}


def test_correlations_of_two_processes_stay_apart(imported: Import):
    export = NsysExport()
    for pid, at in ((100, 0), (200, 1000)):
        export.api("cudaLaunchKernel", at + 80, at + 85, pid=pid).kernel("gemm", at + 100, at + 130, pid=pid)
    export.kernel("orphan", 2000, 2010, pid=300)

    store = imported(export)

    joined = store.rows(
        "SELECT process, a.start_ns, o.start_ns FROM op o JOIN api a USING (process, correlation) ORDER BY 1"
    )
    assert joined == [(100, 80, 100), (200, 1080, 1100)]
    assert [pid for _, pid, _ in store.rows("FROM process ORDER BY 1")] == [100, 200, 300]
    assert warnings(store) == {"op_without_call": 1}
