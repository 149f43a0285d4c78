"""Ranges, graph nodes, events and devices of an nsys export, in the old and the new schema."""

from collections.abc import Callable
from typing import Any

import pytest

from stepprof.profiler.store import Store
from tests.trace_builder import NsysExport, global_id

Import = Callable[[NsysExport], Store]  # fixture of conftest.py
SYNC, EVENT = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"


def ranges(store: Store, columns: str) -> list[tuple[Any, ...]]:
    return store.rows(f"SELECT text, {columns} FROM range JOIN name USING (name_id) ORDER BY start_ns, end_ns")


def warnings(store: Store) -> dict[str, int]:
    return {w["code"]: w["count"] for w in store.warnings()}


# ranges


@pytest.mark.parametrize("registered", [False, True], ids=["text", "registered"])
def test_a_range_has_its_text(registered: bool, imported: Import):
    store = imported(NsysExport().range("step/0", 10, 20, registered=registered, pid=100, tid=5))

    assert ranges(store, "process, thread, end_thread, start_ns, end_ns, domain, payload, nested, left_open") == [
        ("step/0", 100, 5, None, 10, 20, None, None, True, False)
    ]


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        ({"textId": 1, "text": "other"}, "registered"),
        ({"textId": 77}, "<string 77 is missing>"),
        ({"textId": 77, "text": "inline"}, "inline"),
        ({}, ""),
    ],
    ids=["both", "dangling", "dangling with text", "none"],
)
def test_the_text_of_a_range(cells: dict[str, Any], name: str, imported: Import):
    export = NsysExport().add("StringIds", id=1, value="registered")
    export.add("NVTX_EVENTS", start=10, end=20, eventType=59, globalTid=global_id(100, 1), **cells)

    store = imported(export)

    assert ranges(store, "start_ns") == [(name, 10)]
    assert warnings(store) == ({"name_missing": 1} if "missing" in name else {})


@pytest.mark.parametrize(
    ("event_type", "nested"), [(59, [True]), (60, [False]), (70, [True]), (71, [False]), (33, []), (34, []), (75, [])]
)
def test_which_events_are_ranges(event_type: int, nested: list[bool], imported: Import):
    store = imported(NsysExport().range("x", 10, 20, eventType=event_type))
    assert [row[0] for row in store.rows("SELECT nested FROM range")] == nested


def test_a_range_ended_on_another_thread(imported: Import):
    store = imported(NsysExport().range("request", 10, 20, eventType=60, tid=5, end_tid=6))
    assert ranges(store, "nested, thread, end_thread") == [("request", False, 5, 6)]


def test_domains_belong_to_their_process(imported: Import):
    export = NsysExport()
    for pid, domain in ((100, "CCCL"), (200, "NCCL")):
        export.range(domain, 0, None, eventType=75, domainId=1, pid=pid).range(
            "scan", pid, pid + 5, domainId=1, pid=pid
        )
    export.range("step", 300, 310, domainId=0).range("stray", 400, 410, domainId=9)

    store = imported(export)

    assert ranges(store, "domain") == [("scan", "CCCL"), ("scan", "NCCL"), ("step", None), ("stray", None)]


@pytest.mark.parametrize(
    ("cells", "payload"),
    [
        ({"uint64Value": 7}, "7"),
        ({"int64Value": -7}, "-7"),
        ({"uint32Value": 32}, "32"),
        ({"int32Value": -32}, "-32"),
        ({"doubleValue": 1.5}, "1.5"),
        ({"floatValue": 0.25}, "0.25"),
        ({"jsonText": '{"rows": 2}'}, '{"rows": 2}'),
        ({"jsonTextId": 1}, '{"rows": 4}'),
        ({"uint64Value": 0}, "0"),
        ({}, None),
    ],
    ids=lambda value: next(iter(value), "none") if isinstance(value, dict) else "",
)
def test_the_payload_of_a_range(cells: dict[str, Any], payload: str | None, imported: Import):
    export = NsysExport().add("StringIds", id=1, value='{"rows": 4}')

    store = imported(export.range("call", 10, 20, category=3, **cells))

    assert ranges(store, "payload, category") == [("call", payload, 3)]


def test_a_float_payload_after_thousands_of_ranges_without(imported: Import):
    export = NsysExport()
    for i in range(20000):  # types are judged by the first 16,384 rows
        export.range("call", i, i + 1, doubleValue=2.5 if i == 19000 else None)

    store = imported(export)

    assert store.rows("SELECT start_ns, payload FROM range WHERE payload IS NOT NULL") == [(19000, "2.5")]
    assert store.value("SELECT count(*) FROM range") == 20000


# the session lasts 1000; startTime and stopTime are on another clock
DETAILS = {"globalVid": 1 << 48, "duration": 1000, "startTime": 500, "stopTime": 1500}


@pytest.mark.parametrize(
    ("end", "kept", "left_open"),
    [(1000, 1000, True), (None, 990, True), (999, 999, False)],
    ids=["ends with the session", "NULL", "closed just before"],
)
def test_a_range_left_open(end: int | None, kept: int, left_open: bool, imported: Import):
    export = NsysExport().add("ANALYSIS_DETAILS", **DETAILS)
    export.range("asked", 30, end).range("other", 980, 990)

    store = imported(export)

    assert ranges(store, "end_ns, left_open") == [("asked", kept, left_open), ("other", 990, False)]
    assert warnings(store) == ({"range_left_open": 1} if left_open else {})


def test_without_details_no_range_is_taken_for_open(imported: Import):
    store = imported(NsysExport().range("last", 10, 1000))
    assert ranges(store, "left_open") == [("last", False)]


# graph nodes

# capture made node 1 at 50; instantiate cloned it to 11, a second one 11 to 21
CLONED = ((1, 50, None), (11, 60, 1), (21, 70, 11))


@pytest.mark.parametrize("schema", ["old", "new"])
def test_a_node_is_walked_to_its_capture(schema: str, imported: Import):
    export = NsysExport(schema)
    for node, at, origin in CLONED:
        export.node(node, at, origin, tid=4)
    for at, node in ((100, 1), (200, 11), (300, 21), (400, 99), (500, None)):
        export.kernel("gemm", at, at + 10, graphNodeId=node)

    store = imported(export)

    assert store.rows("SELECT start_ns, graph_node, origin_node FROM op ORDER BY 1") == [
        (100, 1, 1), (200, 11, 1), (300, 21, 1), (400, 99, 99), (500, None, None),
    ]  # fmt: skip
    assert store.rows("SELECT process, node, origin, thread, start_ns FROM graph_node ORDER BY node") == [
        (100, 1, None, 4, 50), (100, 11, 1, 4, 60), (100, 21, 11, 4, 70),
    ]  # fmt: skip


def test_the_creation_row_without_origin_says_nothing(imported: Import):
    export = NsysExport().node(1, 50).node(11, 60, None).node(11, 61, 1).node(11, 62, 0)

    store = imported(export.kernel("gemm", 100, 110, graphNodeId=11))

    assert store.rows("SELECT origin_node FROM op") == [(1,)]
    assert store.rows("SELECT start_ns, origin FROM graph_node WHERE node = 11 ORDER BY 1") == [
        (60, None),
        (61, 1),
        (62, None),
    ]


def test_a_cycle_of_clones_ends(imported: Import):
    export = NsysExport().node(1, 50, 2).node(2, 51, 3).node(3, 52, 1).node(4, 53, 4)
    export.kernel("a", 100, 110, graphNodeId=1).kernel("b", 200, 210, graphNodeId=4)

    store = imported(export)

    assert store.value("SELECT origin_node FROM op WHERE start_ns = 100") in (1, 2, 3)
    assert store.value("SELECT origin_node FROM op WHERE start_ns = 200") == 4


def test_nodes_of_two_processes_stay_apart(imported: Import):
    export = NsysExport().node(11, 50, 1, pid=100).node(11, 50, 2, pid=200)
    export.kernel("a", 100, 110, graphNodeId=11, pid=100).kernel("b", 200, 210, graphNodeId=11, pid=200)

    assert imported(export).rows("SELECT process, origin_node FROM op ORDER BY 1") == [(100, 1), (200, 2)]


def test_new_graph_events_are_not_nodes(imported: Import):
    export = NsysExport("new").add("CUDA_GRAPH_EVENTS", start=5, end=6, globalTid=global_id(100, 1), graphId=1)
    assert imported(export).rows("FROM graph_node") == []


def test_hidden_graph_launches_are_told(imported: Import):
    export = NsysExport()
    for i in range(3):
        export.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=i, end=i + 1, correlationId=i, globalPid=global_id(100))

    assert imported(export).fact("graph_trace_rows") == "3"


# events


def test_events_and_the_streams_that_wait(imported: Import):
    place = {"deviceId": 0, "contextId": 1, "globalPid": global_id(100)}
    export = NsysExport().add(EVENT, streamId=7, correlationId=1, eventId=5, eventSyncId=50, **place)
    for sync_type in (1, 2, 3, 4):
        export.add(
            SYNC,
            start=1,
            end=2,
            streamId=13,
            correlationId=sync_type,
            eventId=5,
            eventSyncId=50,
            syncType=sync_type,
            **place,
        )

    store = imported(export)

    assert store.rows("FROM event_record") == [(100, 1, 7, 5, 50, 1)]
    assert store.rows("FROM event_wait") == [(100, 1, 13, 5, 50, 2)]


def test_events_of_an_export_without_sync_ids(imported: Import):
    export = NsysExport().add(EVENT, contextId=1, streamId=7, correlationId=1, eventId=5, globalPid=global_id(100))

    store = imported(export.columns(EVENT, "globalPid contextId streamId correlationId eventId"))

    assert store.rows("FROM event_record") == [(100, 1, 7, 5, None, 1)]


# devices


def test_devices_are_named_whatever_their_order(imported: Import):
    export = NsysExport().kernel("a", 1, 2, deviceId=0).kernel("b", 3, 4, deviceId=1)
    for gpu, name in ((1, "Big"), (0, "Small"), (2, "Unused")):
        export.add("TARGET_INFO_GPU", id=gpu, name=name, smCount=100 + gpu, memoryBandwidth=10**12, l2CacheSize=64)

    assert imported(export).rows("SELECT * EXCLUDE (identity) FROM device ORDER BY device") == [
        (0, "Small", 100, 10**12, 64),
        (1, "Big", 101, 10**12, 64),
    ]


def test_each_process_has_its_own_ordinals(imported: Import):
    export = NsysExport().add("TARGET_INFO_GPU", id=1, name="Big").add("TARGET_INFO_GPU", id=0, name="Small")
    for pid, gpus in ((100, (0, 1)), (200, (1, 0))):  # process 200 runs with CUDA_VISIBLE_DEVICES=1,0
        for cuda, gpu in enumerate(gpus):
            export.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=cuda, pid=pid)
        export.kernel("a", pid, pid + 5, deviceId=0, pid=pid)
    export.memcpy(10, 300, 310, deviceId=0, srcDeviceId=0, dstDeviceId=1, pid=200)

    store = imported(export)

    assert store.rows("SELECT start_ns, name FROM op JOIN device USING (device) ORDER BY 1") == [
        (100, "Small"), (200, "Big"), (300, "Big"),
    ]  # fmt: skip
    assert store.rows("SELECT src_device, dst_device FROM op WHERE activity = 'memcpy'") == [(1, 0)]


def test_the_clock_of_the_session(imported: Import):
    export = NsysExport().add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
    assert imported(export).rows("FROM clock") == [(0, 1_700_000_000_000_000_000, "session_start")]
