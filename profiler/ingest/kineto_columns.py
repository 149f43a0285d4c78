"""Columns of Python values -> Arrow tables -> DuckDB, some ten thousand rows at a time.

    loader = Loader(store)
    loader.kernels.extend(device=[0, 0], ...)
    loader.flush_full(process)

DuckDB takes a batch in a thread of its own while the next one is gathered. Values
that are no integers of their column's size become NULL.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from stepprof.profiler.ingest.kineto_events import MISSING, Ints, exact_ns, floats_to_ns
from stepprof.profiler.ingest.kineto_forms import Forms, number, sized
from stepprof.profiler.store import Store

BATCH = 1 << 16

_OP = """
INSERT INTO op BY NAME SELECT '{activity}'::activity AS activity, op_id, process, device, context, stream, correlation,
    start_ns, end_ns, name_id, graph_id, graph_node, graph_node AS origin_node, {more} FROM batch
"""
KERNEL_SQL = _OP.format(
    activity="kernel",
    more="grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared AS shared_bytes",
)
MEMCPY_SQL = _OP.format(activity="memcpy", more="bytes, copy_kind, from_device AS src_device, to_device AS dst_device")
MEMSET_SQL = _OP.format(activity="memset", more="bytes")
CALL_SQL = "INSERT INTO api BY NAME SELECT process, thread, correlation, start_ns, end_ns, name_id FROM batch"
CPU_OP_SQL = (
    "INSERT INTO _cpu_op BY NAME SELECT op_id + 1 AS number, process, thread, start_ns, end_ns, name_id FROM batch"
)
RANGE_SQL = """
INSERT INTO range BY NAME SELECT op_id AS range_id, process, thread, start_ns, end_ns, name_id,
    true AS nested, left_open = 1 AS left_open FROM batch
"""


class Times:
    """Times of one column: floats while they come as such, else exact nanoseconds."""

    def __init__(self) -> None:
        self._floats = array("d")
        self._done: list[Ints] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, values: list[Any]) -> None:
        """Append times as recorded."""
        self._count += len(values)
        try:
            self._floats.fromlist(values)  # all or none
        except TypeError:
            self._done += [floats_to_ns(self._floats), np.array([exact_ns(v) for v in values], dtype=np.int64)]
            self._floats = array("d")

    def take(self) -> Ints:
        """All times in nanoseconds, and none left."""
        times = np.concatenate([*self._done, floats_to_ns(self._floats)])
        self.__init__()
        return times


class Columns:
    """Values of one kind of row by column; a column `form` stands for those of Forms."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.starts, self.durations = Times(), Times()
        self.forms = Forms()
        self.values: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))

    def __len__(self) -> int:
        return len(self.starts)

    def extend(self, **columns: list[Any]) -> None:
        """Append the values of some columns, one a row."""
        for key, values in columns.items():
            try:
                self.values[key].fromlist(values)  # all or none
            except (TypeError, OverflowError):
                self.values[key].fromlist([number(value) for value in values])

    def extend_times(self, starts: list[Any], durations: list[Any]) -> None:
        """Append times as recorded."""
        self.starts.extend(starts)
        self.durations.extend(durations)

    def take(self, first_id: int, process: int) -> pa.Table:
        """All rows as a table, and none left."""
        ts, dur = self.starts.take(), self.durations.take()
        columns = {key: sized(key, np.frombuffer(values, dtype=np.int64)) for key, values in self.values.items()}
        if "form" in columns:
            forms = columns.pop("form")
            columns |= {key: values[forms] for key, values in self.forms.columns().items()}
        arrays = {key: pa.array(values, mask=values == MISSING) for key, values in columns.items()}
        arrays["op_id"] = pa.array(np.arange(first_id, first_id + len(ts)))
        arrays.setdefault("process", pa.array(np.full(len(ts), process)))
        bad = (ts == MISSING) | (dur == MISSING)
        arrays["start_ns"] = pa.array(ts, mask=ts == MISSING)
        arrays["end_ns"] = pa.array(np.where(bad, 0, ts) + np.where(bad, 0, dur), mask=bad)
        self.values.clear()
        self.forms = Forms()
        return pa.table(arrays)


class Loader:
    """The columns being gathered and the one batch being loaded.

    Each batch is its own transaction: one for all would keep every row in memory, and a
    run file that fails is never shown (store.create).
    """

    def __init__(self, store: Store) -> None:
        self.kernels, self.memcpys, self.memsets = Columns(KERNEL_SQL), Columns(MEMCPY_SQL), Columns(MEMSET_SQL)
        self.calls, self.ranges, self.cpu_ops = Columns(CALL_SQL), Columns(RANGE_SQL), Columns(CPU_OP_SQL)
        self._con = store.con
        self._thread = ThreadPoolExecutor(1)
        self._loading: Future[None] | None = None
        self._rows = 0

    def flush_full(self, process: int) -> None:
        """Load the columns that have grown to a batch."""
        self._flush(process, least=BATCH)

    def end(self, good: bool, process: int) -> None:
        """Load the rest, unless the trace failed; end the thread."""
        try:
            if good:
                self._flush(process, least=1)
                self._wait()
        finally:
            self._thread.shutdown()

    def _flush(self, process: int, least: int) -> None:
        for columns in (self.kernels, self.memcpys, self.memsets, self.calls, self.ranges, self.cpu_ops):
            if len(columns) >= least:
                table = columns.take(self._rows, process)
                self._rows += table.num_rows
                self._wait()
                self._loading = self._thread.submit(self._load, columns.sql, table)

    def _load(self, sql: str, table: pa.Table) -> None:
        self._con.register("batch", table)
        self._con.execute(sql)
        self._con.unregister("batch")

    def _wait(self) -> None:
        if self._loading is not None:
            self._loading.result()
