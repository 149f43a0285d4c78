"""Record files of the collector (one a process, or a folder of them) -> the rows of a run file.

    load_records(Path("folder"), store)

Times are CLOCK_REALTIME ns in all processes, so the epoch is 0 and nothing has to be aligned.
A file that a kill cut off gives everything before the cut, one cut inside its header nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.record_file import RecordFile, has_header, record_files
from stepprof.profiler.ingest.record_ranges import COLUMNS, Ranges
from stepprof.profiler.ingest.record_rows import MARK, ROWS, TEXT
from stepprof.profiler.store import Store

HERE = Path(__file__).parent
BATCH = 1 << 17  # rows gathered before DuckDB takes them
IMAGE = 1 << 24  # a further program in the same process gets its number plus this
RANGE_TYPES = dict.fromkeys(COLUMNS, pa.int64()) | {
    "payload": pa.string(), "nested": pa.bool_(), "left_open": pa.bool_(), "process": pa.int64(),
}  # fmt: skip


def load_records(path: Path, store: Store) -> None:
    """Fill `store` from a record file or a folder of them; InputError where there is none."""
    files = record_files(path)
    if not files:
        raise InputError(f"{path} holds no record file (*.steprec): give the folder that stepprof capture kept.")
    begun = [file for file in files if has_header(file)] or files[:1]  # where none has one, the first tells its fault
    loader = _Loader(store)
    loader.notes["file_cut"] += len(files) - len(begun)
    seen: Counter[int] = Counter()
    for file in begun:
        records = RecordFile(file)
        process = records.pid + IMAGE * seen[records.pid]
        seen[records.pid] += 1
        loader.load(records, process)
    store.con.execute((HERE / "record_names.sql").read_text())
    store.con.execute((HERE / "origin.sql").read_text())
    store.con.execute((HERE / "record_rows.sql").read_text())
    _warn(store, loader.notes)


class _Loader:
    """Arrays of one kind and process gathered into batches, batches into raw tables."""

    def __init__(self, store: Store) -> None:
        self.notes: Counter[str] = Counter()
        self._con = store.con
        for name, dtype in ROWS.values():
            self._insert(f"raw_{name}", _table(np.empty(0, dtype), 0), create=True)
        self._insert("raw_text", _text_table([], 0), create=True)
        self._insert("raw_range", _range_table(Ranges(), 0), create=True)

    def load(self, records: RecordFile, process: int) -> None:
        """Everything of one process."""
        waiting: defaultdict[int, list[Any]] = defaultdict(list)
        ranges, last_ns = Ranges(), 0
        for kind, rows in records:
            if kind == TEXT:
                self._insert("raw_text", _text_table(rows, process))
                continue
            last_ns = max(last_ns, _latest(rows))
            if kind == MARK:
                ranges.add(rows)
            waiting[kind].append(rows)
            if sum(map(len, waiting[kind])) >= BATCH:
                self._rows(kind, waiting.pop(kind), process)
        for kind, arrays in waiting.items():
            self._rows(kind, arrays, process)
        ranges.end(last_ns)
        self._insert("raw_range", _range_table(ranges, process))
        self.notes["range_unmatched"] += ranges.unmatched
        self.notes["file_cut"] += int(records.cut or not records.ended)

    def _rows(self, kind: int, arrays: list[Any], process: int) -> None:
        if kind != MARK:
            self._insert(f"raw_{ROWS[kind][0]}", _table(np.concatenate(arrays), process))

    def _insert(self, name: str, batch: pa.Table, create: bool = False) -> None:
        self._con.register("batch", batch)
        self._con.execute(f"CREATE TEMP TABLE {name} AS FROM batch" if create else f"INSERT INTO {name} FROM batch")
        self._con.unregister("batch")


def _latest(rows: Any) -> int:
    """The latest host time among rows, 0 where they have none."""
    for name in ("end_ns", "time", "realtime"):
        if name in (rows.dtype.names or ()) and len(rows):
            return int(rows[name].max())
    return 0


def _table(rows: Any, process: int) -> pa.Table:
    """A structured array as columns; unsigned 64-bit ids keep their bits."""
    columns: dict[str, Any] = {}
    for name in rows.dtype.names:
        values = np.ascontiguousarray(rows[name])
        if values.dtype.kind == "V":
            columns[name] = pa.array([bytes(v).hex() for v in values.tolist()], pa.string())
        elif name != "pad":
            columns[name] = pa.array(values.astype(np.int64))
    columns["process"] = pa.array(np.full(len(rows), process, np.int64))
    return pa.table(columns)


def _text_table(pairs: list[tuple[int, str]], process: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([number for number, _ in pairs], pa.int64()),
            "text": pa.array([text for _, text in pairs], pa.string()),
            "process": pa.array([process] * len(pairs), pa.int64()),
        }
    )


def _range_table(ranges: Ranges, process: int) -> pa.Table:
    columns = ranges.columns | {"process": [process] * len(ranges.columns["thread"])}
    return pa.table({name: pa.array(values, RANGE_TYPES[name]) for name, values in columns.items()})


def _warn(store: Store, notes: Counter[str]) -> None:
    files = notes["file_cut"]
    store.warn(
        "record_file_cut", files, f"{files} processes ended without closing their record file; all before was read."
    )
    count = notes["range_unmatched"]
    store.warn("range_end_without_begin", count, f"{count} range ends have no begin and were left out.")
