"""An nsys export written again as torch.profiler would: Kineto's own JSON framing, gzip.

    write_kineto(tiled.path, folder / "trace.json.gz")

Kernels, copies, API calls and the marked ranges; each op and call with its flow event. Times are
relative to a base time. What only torch knows (operators) and what nobody reads (occupancy) is left out.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tiling import API, KERNEL, MARK, NVTX, OPS, tables

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H200", "numSms": 132}, {"id": 1, "name": "NVIDIA H200", "numSms": 132}
  ],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "cuda_runtime_version": 13000,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
TAIL = '\n  ],\n  "traceName": "trace.json"\n}\n'
COPIES = {1: "HtoD (Host -> Device)", 2: "DtoH (Device -> Host)", 8: "DtoD (Device -> Device)"}
SHAPE = "gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory + dynamicSharedMemory"
WHERE = 'start, "end" - start, deviceId, contextId, streamId, correlationId, coalesce(graphNodeId, 0)'
Rows = Iterator[tuple[Any, ...]]


def write_kineto(export: Path, path: Path) -> Path:
    """The trace at `path`, written if it is not there; it appears whole or not at all."""
    if not path.exists():
        partial = path.with_suffix(".partial")
        with closing(sqlite3.connect(export)) as con, gzip.open(partial, "wt", compresslevel=4) as file:
            file.write(HEAD)
            for number, event in enumerate(_events(con)):
                file.write((",\n" if number else "") + f"  {{\n    {event}\n  }}")
            file.write(TAIL)
        os.replace(partial, path)
    return path


def _events(con: sqlite3.Connection) -> Iterator[str]:
    """Ranges, calls, ops; each by time."""
    texts = {i: json.dumps(re.sub(r"_v\d+$", "", text)) for i, text in con.execute("SELECT id, value FROM StringIds")}
    who = "(globalTid >> 24) & 16777215, globalTid & 16777215"
    yield from _ranges(con.execute(f'SELECT start, "end" - start, text, {who} FROM {NVTX} WHERE {MARK} ORDER BY start'))
    calls = con.execute(f'SELECT start, "end" - start, nameId, correlationId, {who} FROM {API} ORDER BY start')
    yield from _calls(calls, texts)
    yield from _kernels(con.execute(f"SELECT {WHERE}, demangledName, {SHAPE} FROM {KERNEL} ORDER BY start"), texts)
    for table in OPS[1:]:
        if table in tables(con):
            yield from _copies(con.execute(f"SELECT {WHERE}, bytes, {_kind(con, table)} FROM {table} ORDER BY start"))


def _kind(con: sqlite3.Connection, table: str) -> str:
    """The copy kind; 0 for a memset."""
    return "copyKind" if "copyKind" in tables(con)[table] else "0"


def _ranges(rows: Rows) -> Iterator[str]:
    for start, dur, text, pid, tid in rows:
        yield (
            f'"ph": "X", "cat": "user_annotation", "name": {json.dumps(text)}, "pid": {pid}, "tid": {tid}, '
            f'"ts": {start / 1000}, "dur": {dur / 1000}, "args": {{"External id": 1, "Ev Idx": 0}}'
        )


def _calls(rows: Rows, texts: dict[int, str]) -> Iterator[str]:
    for start, dur, name, correlation, pid, tid in rows:
        yield (
            f'"ph": "X", "cat": "cuda_runtime", "name": {texts[name]}, "pid": {pid}, "tid": {tid}, '
            f'"ts": {start / 1000}, "dur": {dur / 1000}, "args": {{"cbid": 211, "correlation": {correlation}}}'
        )
        yield _flow("s", correlation, pid, tid, start)


def _kernels(rows: Rows, texts: dict[int, str]) -> Iterator[str]:
    for start, dur, device, context, stream, correlation, node, name, *shape in rows:
        x, y, z, block_x, block_y, block_z, registers, shared = shape
        yield (
            f'"ph": "X", "cat": "kernel", "name": {texts[name]}, {_place(start, dur, device, stream)}, '
            f'"args": {{"queued": 0, "device": {device}, "context": {context}, "stream": {stream}, '
            f'"correlation": {correlation}, "registers per thread": {registers}, "shared memory": {shared}, '
            f'"blocks per SM": 0.181818, "warps per SM": 0.727273, "grid": [{x}, {y}, {z}], '
            f'"block": [{block_x}, {block_y}, {block_z}], "est. achieved occupancy %": 1, "graph node id": {node}}}'
        )
        yield _flow("f", correlation, device, stream, start)


def _copies(rows: Rows) -> Iterator[str]:
    for start, dur, device, context, stream, correlation, node, size, kind in rows:
        category = '"gpu_memcpy", "name": "Memcpy ' + COPIES.get(kind, "PtoP (Device -> Device)")
        name = category if kind else '"gpu_memset", "name": "Memset (Device)'
        yield (
            f'"ph": "X", "cat": {name}", {_place(start, dur, device, stream)}, '
            f'"args": {{"device": {device}, "context": {context}, "stream": {stream}, "correlation": {correlation}, '
            f'"bytes": {size}, "memory bandwidth (GB/s)": 0.027491408934707903, "graph node id": {node}}}'
        )
        yield _flow("f", correlation, device, stream, start)


def _place(start: int, dur: int, device: int, stream: int) -> str:
    return f'"pid": {device}, "tid": {stream}, "ts": {start / 1000}, "dur": {dur / 1000}'


def _flow(way: str, correlation: int, pid: int, tid: int, start: int) -> str:
    return (
        f'"ph": "{way}", "id": {correlation}, "pid": {pid}, "tid": {tid}, "ts": {start / 1000}, '
        '"cat": "ac2g", "name": "ac2g", "bp": "e"'
    )
