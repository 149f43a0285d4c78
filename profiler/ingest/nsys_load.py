"""An opened nsys export -> the rows of a run file.

Kernels, copies, memsets and API calls go from Arrow batches straight into their
tables, the small tables through temporaries and nsys_rows.sql. A source is
anything with `tables` and `batches`.

    load_nsys(SqliteExport(path), store)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

from stepprof.profiler.ingest.nsys_tables import BIG, INT, SMALL, RawTable
from stepprof.profiler.store import Store

HERE = Path(__file__).parent


class NsysSource(Protocol):
    """An nsys export in any file format."""

    tables: dict[str, list[str]]

    def batches(
        self, table: str, wanted: dict[str, str], guarded: bool
    ) -> AbstractContextManager[pa.RecordBatchReader]:
        """Batches of the wanted columns; `guarded` turns values of foreign types into NULL."""
        ...


def load_nsys(source: NsysSource, store: Store) -> None:
    """Fill `store` with names, devices, ranges, graph nodes, API calls and ops."""
    for table in SMALL:
        _load(source, store, table)
    store.con.execute((HERE / "nsys_rows.sql").read_text())
    store.con.execute((HERE / "origin.sql").read_text())
    for table in BIG:
        _load(source, store, table)
    store.con.execute((HERE / "nsys_finish.sql").read_text())


def _load(source: NsysSource, store: Store, table: RawTable) -> None:
    """Read one table as it is; again, guarded, where a column holds foreign types."""
    name = table.pick(source.tables)
    if name is None:
        _consume(store, table, pa.RecordBatchReader.from_batches(_schema(table), []))
        return
    try:
        with source.batches(name, table.columns, guarded=False) as reader:
            if not reader.schema.equals(_schema(table)):
                raise pa.ArrowInvalid("foreign types")
            _consume(store, table, reader)
    except (pa.ArrowInvalid, duckdb.InvalidInputException):
        with source.batches(name, table.columns, guarded=True) as reader:
            _consume(store, table, reader)


def _consume(store: Store, table: RawTable, batch: pa.RecordBatchReader) -> None:
    """Run the table's statement over the stream; all of it or nothing."""
    store.con.register("batch", batch)
    store.con.execute("BEGIN")
    try:
        store.con.execute(table.load_sql)
        store.con.execute("COMMIT")
    except duckdb.Error:
        store.con.execute("ROLLBACK")
        raise
    finally:
        store.con.unregister("batch")


def _schema(table: RawTable) -> pa.Schema:
    types = {INT: pa.int64()}
    return pa.schema([(name, types.get(kind, pa.string())) for name, kind in table.columns.items()])
