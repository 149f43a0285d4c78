"""Damaged and odd Kineto traces: each loads with counted warnings or is refused in one sentence."""

import gzip
import io
import json
import resource
import zlib
from typing import Any

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.formats import READABLE
from tests.profiler.ingest.kineto_documents import PID, call, document, event, kernel, load

GOOD = document(call(1), kernel(10), kernel(12))
MANY = document(call(1), *[kernel(i, 0.5, correlation=i + 1) for i in range(5_000)])


def named(name: str) -> str:
    """GOOD with the raw text of a third kernel's name."""
    return document(call(1), kernel(10), kernel(11, name="NAME"), kernel(12)).replace("NAME", name)


def nested(depth: int) -> str:
    return document(kernel(10), kernel(11, deep="DEEP"), kernel(12)).replace('"DEEP"', "[" * depth + "]" * depth)


LOADS = {
    # content, (kernels, calls, ranges), warnings
    "quotes in a name": (named('void f("a")::g'), (3, 1, 0), {"event_repaired": 1}),
    "quotes and commas in a name": (named('f("a", "b"), g'), (3, 1, 0), {"event_repaired": 1}),
    "control characters": (named("a\x01b\tc"), (3, 1, 0), {"event_repaired": 1}),
    "line break in a name": (named("a\nb"), (3, 1, 0), {"event_repaired": 1}),
    "invalid escape": (named(r"C:\dir\x"), (3, 1, 0), {"event_repaired": 1}),
    "broken unicode escape": (named(r"\u12G4"), (3, 1, 0), {"event_repaired": 1}),
    "lone surrogate": (named(r"\ud800"), (3, 1, 0), {"event_repaired": 1}),
    "invalid UTF-8": (named("NA\u00ffME").encode("latin-1"), (3, 1, 0), {"event_repaired": 1}),
    "NaN": (GOOD.replace('"correlation"', '"x": NaN, "correlation"', 2), (2, 1, 0), {"event_repaired": 2}),
    "Infinity": (GOOD.replace('"correlation"', '"x": -Infinity, "correlation"', 1), (2, 1, 0), {"event_repaired": 1}),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), (2, 1, 0), {}),
    "UTF-16": (GOOD.encode("utf-16"), (2, 1, 0), {}),
    "UTF-16 without a mark": (GOOD.encode("utf-16-be"), (2, 1, 0), {}),
    "cut in an event": (GOOD[:-60], (1, 1, 0), {"truncated": 1}),
    "cut in a string": (GOOD[: GOOD.rindex("gemm") + 2], (1, 1, 0), {"truncated": 1}),
    "cut between events": (GOOD[: GOOD.rindex('{"ph"') - 1], (1, 1, 0), {"truncated": 1}),
    "cut after the list": (GOOD[:-1], (2, 1, 0), {}),
    "cut in a large file": (MANY[:-60], (4_999, 1, 0), {"truncated": 1}),
    "scalars in the list": (
        document(1, "x", None, call(1), kernel(10), [], kernel(12), True),
        (2, 1, 0),
        {"not_an_event": 5},
    ),
    "an event that is no JSON": (GOOD.replace('{"ph"', '{"ph": {{{, "ph"', 1), (2, 0, 0), {"event_lost": 1}),
    "missing comma": (GOOD.replace("}}, {", "}} {", 1), (2, 1, 0), {"event_repaired": 1}),
    "double comma": (GOOD.replace("}}, {", "}},, {", 1), (2, 1, 0), {"event_repaired": 1}),
    "trailing comma": (GOOD.replace("}}]", "}},]"), (2, 1, 0), {"event_repaired": 1}),
    "bracket between events": (GOOD.replace("}}, {", "}}, ] {", 1), (2, 1, 0), {"event_repaired": 1}),
    "two documents": (GOOD + "\n" + GOOD, (2, 1, 0), {"second_document": 1}),
    "two lists": (json.dumps([kernel(1)]) * 2, (1, 0, 0), {"second_document": 1}),
    "nested 100,000 deep": (nested(100_000), (2, 0, 0), {"event_lost": 1}),
    "deep metadata": (GOOD.replace("132", "[" * 100_000 + "]" * 100_000), (2, 1, 0), {"metadata_damaged": 1}),
    "no events": (document(), (0, 0, 0), {"no_gpu_ops": 1}),
    "only calls": (document(call(1)), (0, 1, 0), {"no_gpu_ops": 1}),
    "times as text": (document(kernel("10.001", "1"), call(1, ts="9.5")), (1, 1, 0), {}),
    "time missing": (document(call(1), kernel(None), kernel(10)), (1, 1, 0), {"op_time_missing": 1}),
    "times absurd": (document(call(1), kernel(10**30), kernel(-(10**30)), kernel(10)), (1, 1, 0), {"op_time_missing": 2}),
    "time far outside": (document(call(1), kernel(10**12), kernel(10)), (1, 1, 0), {"op_time_outside": 1}),
    "time lost": (document(call(1), kernel(0, 0), kernel(10)), (1, 1, 0), {"op_time_lost": 1}),
    "negative duration": (document(call(1), kernel(5, -1), kernel(10)), (1, 1, 0), {"op_time_negative": 1}),
    "the same op twice": (document(call(1), kernel(10), kernel(10)), (1, 1, 0), {"op_duplicate": 1}),
    "foreign types": (
        document(call(1), kernel(10, device="0", stream=7.0, grid="wide", correlation="1"), {"ph": 3, "args": []}),
        (1, 1, 0),
        {},
    ),
    "numbers too large": (document(call(1), kernel(10, stream=10**40, grid=[10**12, 1, 1])), (1, 1, 0), {}),
    "a device that cannot be": (document(call(1), kernel(10, device=10**12)), (0, 1, 0), {"op_device_missing": 1}),
    "zero byte in a name": (document(call(1), kernel(10, name="a\0b")), (1, 1, 0), {}),
    "end without begin": (
        document(kernel(10), {"ph": "E", "pid": 1, "tid": 1, "ts": 3}),
        (1, 0, 0),
        {"end_without_begin": 1},
    ),
    "begin without end": (
        document(kernel(10), {"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 3}),
        (1, 0, 1),
        {"range_left_open": 1},
    ),
    "an event of 10 MB": (
        document(call(1), kernel(10), kernel(11, name="x" * (10 << 20)), kernel(12), kernel(13)),
        (3, 1, 0),
        {"event_too_large": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOADS)
def test_loads_with_counted_warnings(tmp_path, case):
    content, counts, codes = LOADS[case]
    loaded = load(tmp_path, content)
    assert (loaded.counts, loaded.codes) == (counts, codes)
    assert all(w["text"].startswith(tuple("TMABCDEFGHIJKLNOPQRS0123456789")) for w in loaded.summary["warnings"])


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('void f("a")::g', 'void f("a")::g'),
        ('f("a", "b"), g', 'f("a", "b"), g'),
        ("a\x01b", "a b"),
        (r"C:\dir\x", r"C:\dir\x"),
    ],
)
def test_mended_names(tmp_path, raw, read):
    assert ("gemm", read, "gemm") == tuple(name for name, _, _ in load(tmp_path, named(raw)).kernels)


def test_begin_and_end_nest_on_their_thread(tmp_path):
    def mark(ph: str, ts: float, tid: int, **more: str) -> dict[str, Any]:
        return {"ph": ph, "pid": PID, "tid": tid, "ts": ts, "cat": "user_annotation"} | more

    events = [
        mark("B", 1.001, 1, name="outer"),
        mark("B", 2, 2, name="other"),
        mark("B", 3, 1, name="inner"),
        mark("E", 4.25, 1),
        mark("E", 9, 1),
        mark("E", 10, 2),
    ]
    loaded = load(tmp_path, document(*events))
    rows = loaded.store.rows(
        "SELECT text, thread, start_ns, end_ns FROM range JOIN name USING (name_id) ORDER BY start_ns"
    )
    assert rows == [("outer", 1, 1001, 9000), ("other", 2, 2000, 10000), ("inner", 1, 3000, 4250)]


def test_every_second_event_broken(tmp_path):
    events = [kernel(i, 0.5, correlation=i + 1, name='a"b' if i % 2 else "c") for i in range(2_000)]
    loaded = load(tmp_path, document(*events).replace('a\\"b', 'a"b'))
    assert (loaded.counts[0], loaded.codes) == (2_000, {"event_repaired": 1_000})


WAY_OUT = f"give {READABLE}."
REFUSED = {
    "empty": (b"", f"is empty: {WAY_OUT}"),
    "blank": (b" \n\t", f"is empty: {WAY_OUT}"),
    "empty gzip": (gzip.compress(b""), f"is empty: {WAY_OUT}"),
    "web page": (b"<!DOCTYPE html><html>", f"is a web page: {WAY_OUT}"),
    "text": (b"hello", f"is not a trace that stepprof reads: {WAY_OUT}"),
    "zeros": (bytes(4096), f"is not a trace that stepprof reads: {WAY_OUT}"),
    "other JSON": (b'{"a": 1}', "holds no list of trace events: give a trace of torch.profiler."),
    "events that are no list": (
        b'{"traceEvents": 3}',
        "holds no list of trace events: give a trace of torch.profiler.",
    ),
    "cut before the first event": (b'{"traceEvents": [', "holds no readable event: record or copy the trace again."),
    "cut in the first event": (b'[{"ph": "X", "na', "holds no readable event: record or copy the trace again."),
    "only scalars": (b"[1, 2, 3]", "holds no readable event: record or copy the trace again."),
    "brackets only": (b"[" * 100_000, "holds no readable event: record or copy the trace again."),
    "gzip cut at once": (gzip.compress(GOOD.encode())[:20], None),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(tmp_path, case):
    content, sentence = REFUSED[case]
    with pytest.raises(InputError) as refused:
        load(tmp_path, content)
    path = tmp_path / "trace.json"
    damaged = "is a damaged gzip file"
    assert (
        str(refused.value) == f"{path} {sentence}" if sentence else str(refused.value).startswith(f"{path} {damaged}")
    )
    assert not list(tmp_path.glob("*.duckdb*"))


PACKED = gzip.compress(MANY.encode())
GZIP = {
    "whole": (PACKED, 5_000, {}),
    "cut": (PACKED[: len(PACKED) // 2], None, {"gzip_damaged": 1, "truncated": 1}),
    "cut in the checksum": (PACKED[:-5], 5_000, {"gzip_damaged": 1}),
    "wrong checksum": (PACKED[:-8] + b"abcd" + PACKED[-4:], 5_000, {"gzip_damaged": 1}),
    "two members": (gzip.compress(MANY[:9_000].encode()) + gzip.compress(MANY[9_000:].encode()), 5_000, {}),
    "padded with zeros": (PACKED + bytes(512), 5_000, {}),
    "garbage after": (PACKED + b"garbage", 5_000, {"gzip_trailing": 1}),
    "noise within": (PACKED[:-9_000] + b"\xff" * 4_000 + PACKED[-5_000:], None, {"gzip_damaged": 1, "truncated": 1}),
}


@pytest.mark.parametrize("case", GZIP)
def test_what_a_damaged_gzip_file_holds_is_kept(tmp_path, case):
    content, kernels, codes = GZIP[case]
    loaded = load(tmp_path, content, "trace.json.gz")
    assert codes.items() <= loaded.codes.items() if case == "noise within" else codes == loaded.codes
    assert loaded.counts[0] == kernels if kernels else 500 < loaded.counts[0] < 5_000


def test_every_field_of_a_gzip_header(tmp_path):
    packed = gzip.compress(GOOD.encode())
    header = packed[:3] + bytes([4 | 8 | 16 | 2]) + packed[4:10] + b"\x03\x00abc" + b"name\0" + b"comment\0" + b"hc"
    assert load(tmp_path, header + packed[10:], "trace.json.gz").codes == {}


@pytest.mark.parametrize("filler", [b" ", b"0", b"}", b"{", b'"', b"},"], ids=repr)
def test_a_bomb_costs_neither_memory_nor_time(tmp_path, filler):
    packed = io.BytesIO()
    with gzip.open(packed, "wb", compresslevel=1) as out:
        out.write(GOOD.encode()[:-2] + b", ")
        block = filler * ((1 << 20) // len(filler))
        for _ in range(64):
            out.write(block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loaded = load(tmp_path, packed.getvalue(), "trace.json.gz")
    assert loaded.counts == (1, 1, 0)  # the event before the filler goes with it
    assert loaded.codes["truncated"] == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # KiB


def test_a_bomb_of_zeros_is_refused_at_once(tmp_path):
    pack = zlib.compressobj(1, wbits=31)
    bomb = b"".join(pack.compress(bytes(1 << 20)) for _ in range(256)) + pack.flush()
    with pytest.raises(InputError):
        load(tmp_path, bomb, "trace.json.gz")


def test_an_unknown_event_is_no_row(tmp_path):
    loaded = load(tmp_path, document(kernel(10), event("python_function", "f", 1), event("new thing", "g", 1)))
    assert (loaded.counts, loaded.codes) == ((1, 0, 0), {})
