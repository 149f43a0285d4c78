"""A scrubbed Kineto trace keeps its rows and tells nothing of its processes and of the time of day."""

import gzip
import json

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.scrub import scrub
from stepprof.profiler.scrub_kineto_events import scrubbed_events
from stepprof.profiler.store import open_run
from tests.profiler.ingest.kineto_documents import BASE, call, document, event, kernel

PID, TID, START = 2254, 2261, 5_132_253_516_473.156
ROWS = """
SELECT text, o.device, o.stream, o.start_ns - a.start_ns, o.end_ns - o.start_ns
FROM op o JOIN api a USING (process, correlation) JOIN name ON name.name_id = o.name_id ORDER BY o.start_ns
"""


def at(us):
    return round(START + us, 3)


def trace(**meta):
    """One process with two threads, a GPU, and what Kineto says of them."""
    named = {
        "ph": "M",
        "name": "thread_name",
        "pid": PID,
        "tid": TID,
        "ts": at(0),
        "args": {"name": "thread 2261 (python3)"},
    }
    arrow = {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": at(4), "bp": "e"}
    return document(
        named, arrow | {"ph": "s", "pid": PID, "tid": TID, "ts": at(1)}, arrow,
        call(5, at(1.001), pid=PID, tid=TID), call(6, at(2), pid=PID, tid=PID),
        kernel(at(4.002), 1.5, correlation=5, queued=START), kernel(at(6), 1, "norm", correlation=6),
        event("user_annotation", "/home/alice/x.py: step", at(0.5), 9, pid=PID, tid=TID),
        event("cpu_op", "aten::mm of alice", at(1), 2, pid=PID, tid=TID, args={"Call stack": "/home/alice/x.py(1)"}),
        **meta,
    )  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "in.json.gz").write_bytes(
        gzip.compress(trace(host_name="dgx-17", traceName="/home/alice/t.json").encode())
    )
    removed = scrub(tmp_path / "in.json.gz", tmp_path / "out.json")
    return tmp_path / "out.json", removed


def test_nothing_of_the_machine_is_left(copy):
    text = copy[0].read_text()
    for left in ("alice", "dgx-17", str(PID), str(TID), str(BASE), "python3", "51322", "Call stack", "queued"):
        assert left not in text
    assert copy[1] == [
        "metadata baseTimeNanoseconds", "metadata host_name", "metadata traceName", "arguments of events: Call stack, queued",
        "process and thread ids (numbered anew) and their names", "the time of day",
        "paths, names, addresses, ids or secrets in 2 texts",
    ]  # fmt: skip


def test_rows_stay_to_the_nanosecond(copy, tmp_path):
    rows = []
    for path in (tmp_path / "in.json.gz", copy[0]):
        import_run(path, tmp_path / "run.duckdb", Extras(), force=True)
        store = open_run(tmp_path / "run.duckdb")
        rows.append(store.rows(ROWS))
        store.close()
    assert rows[0] == rows[1] == [("gemm", 0, 7, 3001, 1500), ("norm", 0, 7, 4000, 1000)]


def test_ids_are_numbered_after_the_gpus(copy):
    events = json.loads(copy[0].read_text())["traceEvents"]
    shown = {(e["ph"], e["name"]): (e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] != "M"}
    assert shown["X", "gemm"] == (0, 7, 3.502) and shown["f", "ac2g"] == (0, 7, 3.5)
    assert shown["X", "<path>/x.py: step"] == (1, 2, 0.0)  # threads 2254 and 2261
    assert shown["s", "ac2g"][:2] == (1, 2)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {(0, 7): "stream 7", (1, 1): "thread 1", (1, 2): "thread 2"}


def test_a_process_with_the_number_of_a_gpu():
    """Process 1 of a container beside GPU 1: the kind of a row tells which is meant."""
    moved = scrubbed_events([call(5, 1.0, pid=1, tid=1), kernel(2.0) | {"pid": 1, "tid": 7}], [])
    assert [(e["pid"], e["tid"]) for e in moved if e["ph"] == "X"] == [(2, 1), (1, 7)]


def test_ids_written_as_texts_and_signs():
    moved = scrubbed_events([
        call(5, 1.0, pid="2254", tid="thread 9000"), call(6, 2.0, pid=2254, tid=-19360192),
        event("Trace", "PyTorch Profiler (0)", 0.0, pid="Spans", tid="PyTorch Profiler"),
        event("overhead", "Buffer", 1.0, pid=-1, tid=0),
    ], [])  # fmt: skip
    assert [(e["pid"], e["tid"]) for e in moved if e["ph"] == "X"] == [
        (1, 2), (1, 1), ("Spans", "PyTorch Profiler"), (-1, 0),
    ]  # fmt: skip


def test_a_lost_time_does_not_keep_the_others():
    moved = scrubbed_events(
        [kernel(0, 0), kernel(1_679_055_451_546_276), kernel(1_679_055_451_546_277.5), kernel("x")], []
    )
    assert [e["ts"] for e in moved if e["ph"] == "X"] == [0, 0.0, 1.5, None]


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_name_of_the_copy_says_whether_it_is_gzip(name, packed, tmp_path):
    data = trace().encode()
    (tmp_path / "in").write_bytes(gzip.compress(data) if packed else data)
    scrub(tmp_path / "in", tmp_path / name)
    copy = (tmp_path / name).read_bytes()
    text = gzip.decompress(copy) if name.endswith(".gz") else copy
    assert json.loads(text)["schemaVersion"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", name]


@pytest.mark.parametrize("content", [b'{"traceEvents": [', b"\x1f\x8b\x08\x00", b"[" * 100_000])
def test_damage_is_one_sentence(content, tmp_path):
    (tmp_path / "in.json").write_bytes(content)
    with pytest.raises(InputError, match=r"in\.json (is damaged|is a damaged)") as fault:
        scrub(tmp_path / "in.json", tmp_path / "out.json")
    assert "\n" not in str(fault.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.json"]
