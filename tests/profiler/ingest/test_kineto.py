"""What a well-formed Kineto trace becomes."""

import gzip
import json
from decimal import Decimal
from typing import Any

import pytest

from stepprof.profiler.ingest.kineto_events import EventDecoder, exact_ns
from tests.profiler.ingest.kineto_documents import BASE, PID, call, document, event, kernel, load


def pretty(text: str, kineto: bool = True) -> str:
    """The layout of Kineto itself: each event on lines of its own."""
    whole = json.loads(text)
    events = ",\n".join("  {\n    " + json.dumps(e)[1:-1] + "\n  }" for e in whole.pop("traceEvents"))
    head = json.dumps(whole, indent=2)[:-2]
    return f'{head},\n  "traceEvents": [\n{events}\n  ],\n  "traceName": "/tmp/t.json"\n}}'


@pytest.mark.parametrize("layout", ["compact", "pretty", "indented", "gzip", "bare list"])
def test_every_layout_gives_the_same_rows(tmp_path, layout):
    events = [call(1), kernel(10.001, 0.5), kernel(11.0, 2.25), event("user_annotation", "step/0", 0.5, 20)]
    text = document(*events)
    content = {
        "compact": text.replace(": ", ":").replace(", ", ","),
        "pretty": pretty(text),
        "indented": json.dumps(json.loads(text), indent=4),
        "gzip": gzip.compress(text.encode()),
        "bare list": json.dumps(events),
    }[layout]
    loaded = load(tmp_path, content)
    assert loaded.counts == (2, 1, 1)
    assert loaded.codes == {}
    assert loaded.kernels == [("gemm", 10001, 10501), ("gemm", 11000, 13250)]


def test_many_chunks_lose_nothing(tmp_path):
    events = [kernel(i, 0.5, correlation=i + 1, name=f"k{i % 7}") for i in range(20_000)]
    loaded = load(tmp_path, document(call(1), *events))
    assert loaded.counts == (20_000, 1, 0)
    assert loaded.store.value("SELECT sum(start_ns) FROM op") == sum(range(20_000)) * 1000
    assert loaded.store.value("SELECT count(DISTINCT op_id) FROM op") == 20_000


def test_lists_of_objects_inside_events_are_not_events(tmp_path):
    inside = [{"name": "a", "id": 1}, {"name": "b", "id": 2}] * 4
    events = [kernel(i, 0.5, correlation=i + 1, inputs=inside, text='}, {"ph": "X"') for i in range(3_000)]
    loaded = load(tmp_path, document(call(1), *events))
    assert (loaded.counts, loaded.codes) == ((3_000, 1, 0), {})


def test_an_op_keeps_what_is_said_of_it(tmp_path):
    args: dict[str, Any] = {"registers per thread": 40, "shared memory": 49152, "graph id": 5, "graph node id": 77}
    no_graph: dict[str, Any] = {"graph id": 0, "graph node id": 0}
    loaded = load(tmp_path, document(call(1), kernel(10, **args), kernel(12, **no_graph)))
    columns = "device, context, stream, correlation, process, grid_x, grid_y, grid_z, block_x, registers, shared_bytes"
    rows = loaded.store.rows(f"SELECT {columns}, graph_id, graph_node, origin_node FROM op ORDER BY start_ns")
    assert rows == [
        (0, 1, 7, 1, PID, 2, 3, 4, 32, 40, 49152, 5, 77, 77),
        (0, 1, 7, 1, PID, 2, 3, 4, 32, None, None, None, None, None),
    ]


def test_copies_and_memsets(tmp_path):
    peer = {
        "fromDevice": 0,
        "inDevice": 0,
        "toDevice": 1,
        "inContext": 3,
        "stream": 22,
        "correlation": 1,
        "bytes": 4096,
    }
    here = {"device": 1, "context": 2, "stream": 7, "correlation": 1, "bytes": 8}
    loaded = load(
        tmp_path,
        document(
            event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1, pid=0, tid=22, args=peer),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 2, pid=1, tid=7, args=here),
            event("gpu_memset", "Memset (Device)", 3, pid=1, tid=7, args=here),
        ),
    )
    columns = "activity::VARCHAR, device, context, stream, bytes, copy_kind, src_device, dst_device"
    assert loaded.store.rows(f"SELECT {columns} FROM op ORDER BY start_ns") == [
        ("memcpy", 0, 3, 22, 4096, 10, 0, 1),
        ("memcpy", 1, 2, 7, 8, 1, None, None),
        ("memset", 1, 2, 7, 8, None, None, None),
    ]


def test_old_categories_and_ids_in_texts(tmp_path):
    old = event("Kernel", "k", 1623142623531625, 2, pid=0, tid="stream 7", args={"correlation": 9})
    loaded = load(
        tmp_path,
        document(
            event("Operator", "ProfilerStep#3", 1623142623531000, 900, pid=25738, tid="25738"),
            event("Operator", "aten::empty", 1623142623531000, 9, pid=25738, tid="25738"),
            event("Runtime", "cudaLaunchKernel", 1623142623531600, 2, pid=25738, tid="25738", args={"correlation": 9}),
            old,
            baseTimeNanoseconds=None,
        ),
    )
    assert loaded.counts == (1, 1, 1)
    assert loaded.store.rows("SELECT process, device, stream, start_ns FROM op") == [(25738, 0, 7, 1623142623531625000)]
    assert loaded.store.rows("SELECT process, thread FROM api") == [(25738, 25738)]
    assert loaded.store.rows("SELECT epoch_ns, source FROM clock") == [(0, "base_time")]


def test_annotations_on_the_gpu_are_not_work_and_syncs_are_not_kernels(tmp_path):
    loaded = load(
        tmp_path,
        document(
            kernel(10),
            event("gpu_user_annotation", "step/0", 9, 30, pid=0, tid=7),
            event("cuda_sync", "Context Sync", 11, 5, pid=0, tid=-1, args={"stream": -1, "correlation": 3}),
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": PID, "tid": PID, "ts": 1},
            {"ph": "i", "name": "Record Window End", "s": "g", "pid": "", "tid": "", "ts": 50.0},
        ),
    )
    assert loaded.counts == (1, 0, 0)


def test_waits_between_streams(tmp_path):
    wait = {"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 19}
    where = {"stream": 24, "correlation": 5, "device": 0, "context": 1}
    loaded = load(
        tmp_path,
        document(
            call(4, name="cudaEventRecord"),
            call(5, name="cudaStreamWaitEvent"),
            kernel(2, stream=20, context=6),
            event("cuda_sync", "Stream Wait Event", 3, pid=0, tid=24, args=wait | where),
        ),
    )
    columns = "process, context, stream, event, sync_id, correlation"
    assert loaded.store.rows(f"SELECT {columns} FROM event_wait") == [(PID, 1, 24, 19, 4, 5)]
    assert loaded.store.rows(f"SELECT {columns} FROM event_record") == [(PID, 6, 20, 19, 4, 4)]


def test_recorded_events_win_over_what_waits_say(tmp_path):
    args = {"event_id": 19, "stream": 20, "correlation": 4, "device": 0, "context": 2}
    wait = {"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 19, "stream": 24}
    loaded = load(
        tmp_path,
        document(
            call(4, name="cudaEventRecord"),
            event("cuda_event", "cudaEvent", 1, pid=0, tid=20, args=args),
            event("cuda_sync", "Stream Wait Event", 3, pid=0, tid=24, args=wait),
        ),
    )
    assert loaded.store.rows("SELECT context, stream, event, sync_id FROM event_record") == [(2, 20, 19, 4)]


def test_ops_belong_to_the_process_of_their_call(tmp_path):
    events = [
        call(1, pid=200),
        call(2, pid=300),
        call(3, pid=200),
        call(3, pid=300),
        kernel(10, correlation=1),
        kernel(11, correlation=2),
        kernel(12, correlation=3),
    ]
    loaded = load(tmp_path, document(event("user_annotation", "step/0", 0, 99, pid=50), *events))
    assert loaded.store.rows("SELECT correlation, process FROM op ORDER BY 1") == [(1, 200), (2, 300), (3, 200)]
    assert loaded.codes == {"correlation_shared": 1}


def test_one_caller_owns_every_op(tmp_path):
    loaded = load(
        tmp_path, document(kernel(9, correlation=8), event("user_annotation", "a", 0, pid=50), call(1), kernel(10))
    )
    assert loaded.store.rows("SELECT DISTINCT process FROM op") == [(PID,)]


@pytest.mark.parametrize("place", ["before", "after"])
def test_base_time_stands_before_or_after_the_events(tmp_path, place):
    events = json.dumps([call(1), kernel(10)])
    base = f'"baseTimeNanoseconds": {BASE}'
    text = f'{{{base}, "traceEvents": {events}}}' if place == "before" else f'{{"traceEvents": {events}, {base}}}'
    loaded = load(tmp_path, text)
    assert loaded.store.rows("SELECT epoch_ns, source FROM clock") == [(BASE, "base_time")]


def test_names_of_calls_lose_their_suffix(tmp_path):
    loaded = load(tmp_path, document(call(1, name="cudaLaunchKernelExC_v11060"), call(2, name="cuMemcpyAsync_ptsz")))
    names = loaded.store.rows("SELECT text FROM api JOIN name USING (name_id) ORDER BY correlation")
    assert names == [("cudaLaunchKernelExC",), ("cuMemcpyAsync",)]


def test_versions_device_and_rank(tmp_path):
    loaded = load(tmp_path, document(kernel(1), cuda_runtime_version=13000, distributedInfo={"rank": 3}))
    assert loaded.summary["tool"] == "torch.profiler CUDA 13.0"
    assert loaded.summary["devices"] == [{"ordinal": 0, "name": "NVIDIA H200"}]
    assert loaded.store.rows("SELECT sm_count FROM device") == [(132,)]
    assert loaded.store.fact("rank") == "3"


def test_a_rocm_trace_loads_with_a_warning(tmp_path):
    loaded = load(tmp_path, document(call(1, name="hipGraphLaunch"), kernel(1), hip_runtime_version=70253211))
    assert loaded.summary["counts"]["graph_launch"] == 1
    assert loaded.summary["tool"] == "torch.profiler HIP 7.2"
    assert loaded.codes == {"rocm": 1}


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("5135599566021.789", 5135599566021789),
        ("1712195495519689.123", 1712195495519689123),
        ("1679055454045054", 1679055454045054000),
        ("8796093022208.001", 8796093022208001),
        ("0.0005", 0),
        ("1.5e3", 1500000),
    ],
)
def test_times_are_exact(tmp_path, text, ns):
    (read,) = EventDecoder().decode(f'[{{"ph": "X", "ts": {text}}}]'.encode())
    assert exact_ns(read.ts) == ns
    loaded = load(tmp_path, document(kernel(0.25)).replace("0.25", text))
    assert [start for _, start, _ in loaded.kernels] == [ns]


def test_exact_times_of_any_type():
    wild = ["12.5", Decimal("0.001"), 7, 1e300, "soon", None, "1e999999", float("nan")]
    missing = -(1 << 63)
    assert [exact_ns(v) for v in wild] == [12500, 1, 7000, missing, missing, missing, missing, missing]
