"""After the events of a Kineto trace: names, devices, clock, versions, what was lost.

`finish` reads the text before and after the list of events (base time and device
properties stand in either, by version) and runs kineto_finish.sql.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.kineto_events import BROKEN
from stepprof.profiler.ingest.kineto_forms import INT32_MAX
from stepprof.profiler.ingest.kineto_rows import RECORD, WAIT, Rows
from stepprof.profiler.ingest.kineto_salvage import clean, document_end
from stepprof.profiler.ingest.kineto_stream import Frames
from stepprof.profiler.store import Store

HERE = Path(__file__).parent
BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})\b')
TEXTS = {
    "gzip_damaged": "The gzip file is damaged or cut off; what could be unpacked was read.",
    "gzip_trailing": "Other bytes follow the gzip data in the same file; they were not read.",
    "truncated": "The file ends before its list of events does; what came before was read.",
    "event_lost": "{} events do not parse and were left out.",
    "event_repaired": "{} events were not valid JSON and were mended.",
    "event_too_large": "{} events are larger than 8 MiB and were left out.",
    "not_an_event": "{} entries of the list of events are not events and were left out.",
    "end_without_begin": "{} range ends have no begin and were left out.",
    "second_document": "More text follows the trace in the same file; it was not read.",
    "metadata_damaged": "The metadata before or after the events does not parse and was left out.",
}


def finish(path: Path, store: Store, frames: Frames, rows: Rows, notes: Counter[str]) -> None:
    """Complete the rows of a trace whose events are loaded; InputError where there were none to load."""
    meta = _metadata(frames, notes)
    _check(path, notes)
    several = len(rows.callers) > 1 or bool(rows.callers - {rows.process})
    process = min(rows.callers) if len(rows.callers) == 1 else rows.process or 0
    store.con.execute(
        "CREATE TEMP TABLE _host AS SELECT ?::INTEGER AS process, ?::BIGINT AS base_ns", [process, _base(meta)]
    )
    tables = {
        "names": pa.table(
            {"name_id": pa.array(rows.names.values(), pa.int64()), "text": pa.array(rows.names, pa.string())}
        ),
        "properties": _devices(meta),
        "waits": _integer_table(WAIT, rows.waits),
        "records": _integer_table(RECORD, rows.records),
    }
    with _registered(store, tables):
        for script in ("kineto_processes.sql",) * several + ("kineto_finish.sql", "origin.sql"):
            store.con.execute((HERE / script).read_text())
    for key, value in _facts(meta).items():
        store.con.execute("INSERT INTO run VALUES (?, ?)", [key, value])
    _warn(store, meta, notes)


@contextmanager
def _registered(store: Store, tables: dict[str, pa.Table]) -> Generator[None]:
    for name, table in tables.items():
        store.con.register(name, table)
    yield
    for name in tables:
        store.con.unregister(name)


def _check(path: Path, notes: Counter[str]) -> None:
    if notes["events"] or not notes.keys() & {"truncated", "event_lost", "not_an_event", "event_too_large"}:
        return
    if notes["gzip_damaged"]:
        raise InputError(f"{path} is a damaged gzip file: copy or export it again.")
    raise InputError(f"{path} holds no readable event: record or copy the trace again.")


def _metadata(frames: Frames, notes: Counter[str]) -> dict[str, Any]:
    """What stands before and after the list of events."""
    before = _object(frames.header + b"]}", notes) if frames.header else {}
    footer = frames.footer.strip()
    if frames.header:
        after = _object(b'{"":0' + (footer or b"}"), notes)
    else:
        after, notes["second_document"] = {}, int(bool(footer))
    return after | before


def _object(text: bytes, notes: Counter[str]) -> dict[str, Any]:
    for spelling in (text, clean(text)):
        try:
            return _decoded(spelling, notes)
        except BROKEN:
            continue
    notes["metadata_damaged"] = 1
    found = BASE.search(text)
    return {"baseTimeNanoseconds": int(found[1])} if found else {}


def _decoded(text: bytes, notes: Counter[str]) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except BROKEN as fault:
        end = document_end(text, fault)
        if end is None:
            raise
        notes["second_document"] = 1
        return msgspec.json.decode(text[:end], type=dict[str, Any])


def _base(meta: dict[str, Any]) -> int | None:
    base = meta.get("baseTimeNanoseconds")
    return base if isinstance(base, int) and abs(base) < 1 << 62 else None


def _devices(meta: dict[str, Any]) -> pa.Table:
    listed = meta.get("deviceProperties")
    devices = [d for d in listed if isinstance(d, dict) and _small(d.get("id"))] if isinstance(listed, list) else []
    return pa.table(
        {
            "id": pa.array([d["id"] for d in devices], pa.int64()),
            "name": pa.array([str(d.get("name") or "") for d in devices], pa.string()),
            "sms": pa.array([d.get("numSms") if _small(d.get("numSms")) else None for d in devices], pa.int64()),
        }
    )


def _small(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= INT32_MAX


def _integer_table(names: tuple[str, ...], rows: list[tuple[int, ...]]) -> pa.Table:
    """Rows of integers by column, MISSING and -1 as NULL."""
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    filled = [pa.array([v if v >= 0 else None for v in column], pa.int64()) for column in columns]
    return pa.table(filled, names=list(names))


def _facts(meta: dict[str, Any]) -> dict[str, str]:
    """Versions, and the rank where the trace is of a distributed run."""
    cuda, hip = meta.get("cuda_runtime_version"), meta.get("hip_runtime_version")
    facts: dict[str, str] = {}
    if isinstance(cuda, int):
        facts["tool_version"] = f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"
    elif isinstance(hip, int):
        facts["tool_version"] = f"HIP {hip // 10_000_000}.{hip // 100_000 % 100}"
    distributed = meta.get("distributedInfo")
    if isinstance(distributed, dict) and isinstance(distributed.get("rank"), int):
        facts["rank"] = str(distributed["rank"])
    return facts


def _warn(store: Store, meta: dict[str, Any], notes: Counter[str]) -> None:
    for code, text in TEXTS.items():
        store.warn(code, notes[code], text.format(notes[code]))
    ops = store.value("SELECT count(*) FROM op")
    if not ops:
        store.warn("no_gpu_ops", 1, "The trace holds no GPU op: what needs kernels is refused.")
    hip_calls = store.value("SELECT count(*) FROM api JOIN name USING (name_id) WHERE text LIKE 'hip%'")
    if hip_calls or "roctracer_version" in meta or "hip_runtime_version" in meta:
        store.warn(
            "rocm", max(ops, 1), f"{ops} ops are of an AMD GPU: names and copies are read, role rules are NVIDIA's."
        )
