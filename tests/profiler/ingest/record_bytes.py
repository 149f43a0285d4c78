"""A record file of the collector made in code: two rows of every kind, any of them in the last record.

data = all_before(KERNEL) + record(KERNEL, rows_of(KERNEL))
"""

import struct

import numpy as np

from stepprof.profiler.ingest.record_file import HEAD
from stepprof.profiler.ingest.record_rows import END, HEADER, MAGIC, ROWS, TEXT, VERSION

TEXTS = ["gemm", "cudaLaunchKernel", "step", "Fake GPU", "edges_unread", "the edges of a graph cannot be read"]
# Two rows of each kind, which refer to each other and to the texts; what is not named is 0.
VALUES = {
    "clock": [{"realtime": 100, "monotonic": 1100, "version": 130001}, {"realtime": 900, "monotonic": 1900, "at_end": 1}],
    "mark": [{"time": 200, "thread": 1, "text": 3, "what": 1}, {"time": 700, "thread": 1, "what": 2}],
    "kernel": [
        {"start_ns": 300, "end_ns": 340, "node": 201, "correlation": 1, "context": 1, "stream": 7, "name": 1},
        {"start_ns": 400, "end_ns": 450, "node": 202, "correlation": 2, "context": 1, "stream": 7, "name": 1},
    ],
    "copy": [
        {"start_ns": 500, "end_ns": 510, "bytes": 64, "correlation": 3, "activity": 1, "copy_kind": 1, "src_device": -1},
        {"start_ns": 520, "end_ns": 530, "bytes": 32, "correlation": 4, "activity": 2, "dst_device": -1},
    ],
    "call": [
        {"start_ns": 210, "end_ns": 220, "correlation": 1, "thread": 1, "name": 2},
        {"start_ns": 230, "end_ns": 240, "correlation": 2, "thread": 1, "name": 2},
    ],
    "sync": [{"type": 2, "context": 1, "stream": 7, "event": 3, "sync_id": 9}, {"type": 2, "context": 1, "event": 4}],
    "event": [{"context": 1, "stream": 8, "event": 3, "sync_id": 9}, {"context": 1, "stream": 8, "event": 4}],
    "node": [{"time": 110, "node": 201, "origin": 101, "thread": 1}, {"time": 120, "node": 202, "origin": 102}],
    "edge": [{"from_node": 101, "to_node": 102}, {"from_node": 101, "to_node": 103, "edge_kind": 1}],
    "device": [{"uuid": b"a" * 16, "sm_count": 10, "name": 4}, {"uuid": b"b" * 16, "id": 1, "sm_count": 11, "name": 4}],
    "context": [{"context": 1}, {"context": 2, "device": 1}],
    "overhead": [{"start_ns": 10, "end_ns": 15}, {"start_ns": 20, "end_ns": 27}],
    "loss": [{"count": 3}, {"count": 4}],
    "note": [{"code": 5, "text": 6}, {"code": 5, "text": 6}],
    "finish": [{"realtime": 950}],
}  # fmt: skip
LAST_TEXTS = [(7, "a name"), (8, "Wörter")]
KINDS = {TEXT: "text"} | {kind: name for kind, (name, _) in ROWS.items()}


def rows_of(kind: int) -> list[bytes]:
    """The rows of a record, each as its bytes; those of the texts are LAST_TEXTS."""
    if kind == TEXT:
        return [text(number, words) for number, words in LAST_TEXTS]
    return list(map(bytes, structured(kind)))


def structured(kind: int) -> np.ndarray:
    """The rows that VALUES names."""
    name, dtype = ROWS[kind]
    rows = np.zeros(len(VALUES[name]), dtype)
    for row, values in zip(rows, VALUES[name], strict=True):
        for column, value in values.items():
            row[column] = np.void(value) if isinstance(value, bytes) else value
    return rows


def text(number: int, words: str) -> bytes:
    """A row of texts."""
    return struct.pack("<II", number, len(words.encode())) + words.encode()


def record(kind: int, rows: list[bytes]) -> bytes:
    """A record of rows of one kind."""
    payload = b"".join(rows)
    return HEAD.pack(len(payload), kind) + payload


def all_before(last: int) -> bytes:
    """Header, texts, and a record of every kind but the last one and the end."""
    header = np.array([(MAGIC, VERSION, 42, 1, 1, 0)], HEADER).tobytes()
    texts = record(TEXT, [text(i + 1, words) for i, words in enumerate(TEXTS)])
    return header + texts + b"".join(record(kind, rows_of(kind)) for kind in ROWS if kind not in (last, END))
