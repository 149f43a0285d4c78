"""Tables of an nsys SQLite export as Arrow batches: read-only, only wanted columns.

SQLite keeps a type a value, Arrow a type a column. The fast way reads columns as
they are; where a column turns out to hold other types than declared, or a text
is no UTF-8, `guarded` reads again with every foreign number as NULL (later counted
as invalid) and every text mended.
Views, virtual tables, computed columns and indexes are never read: they run the author's
SQL, or may differ from the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as adbc
import pyarrow as pa

from stepprof.profiler.errors import InputError

MAGIC = b"SQLite format 3\x00"
BATCH_ROWS = 16384
# header fields: page size, change counter, number of pages, the change counter that number is valid for
PLACES = ((16, 18), (24, 28), (28, 32), (92, 96))
PREFIX = re.compile(r"^(INTERNAL: |INVALID_ARGUMENT: |IO: |\[SQLite\] |Failed to \w+ query: )+")


class SqliteExport:
    """An open export; `tables` maps each table to its column names."""

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        refuse_cut_off(path, shown or path)
        uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1"
        try:
            self.con = adbc.connect(uri)
            self.tables = self._tables()
        except adbc.Error as fault:
            raise InputError(
                f"{shown or path} is not a readable SQLite export ({reason(fault)}): run nsys export again."
            ) from None

    def _tables(self) -> dict[str, list[str]]:
        names = [str(n) for (n,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")]
        return {n: [str(c) for (c,) in self._rows(f"SELECT name FROM pragma_table_info({_text(n)})")] for n in names}

    def _rows(self, sql: str) -> list[tuple[object, ...]]:
        with self.con.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def columns(self, table: str, wanted: dict[str, str]) -> dict[str, str]:
        """The SQL of each wanted column, NULL where the table lacks it."""
        present = {c.lower(): c for c in self.tables[table]}
        return {w: _identifier(present[w.lower()]) if w.lower() in present else "NULL" for w in wanted}

    @contextmanager
    def batches(self, table: str, wanted: dict[str, str], guarded: bool) -> Generator[pa.RecordBatchReader]:
        """Batches of `wanted` (name -> int or text) in the order asked for."""
        cells = [_cell(sql, wanted[name], guarded) for name, sql in self.columns(table, wanted).items()]
        named = ", ".join(f"{cell} AS {_identifier(name)}" for cell, name in zip(cells, wanted, strict=True))
        with self.con.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            cursor.execute(f"SELECT {named} FROM {_identifier(table)} NOT INDEXED")
            reader = cursor.fetch_record_batch()
            try:
                yield _decoded(reader) if guarded else reader
            finally:
                reader.close()

    def close(self) -> None:
        """Close the file."""
        self.con.close()


def _cell(sql: str, kind: str, guarded: bool) -> str:
    if kind == "text":
        return f"CAST(coalesce({sql}, '') AS {'BLOB' if guarded else 'TEXT'})"
    if sql == "NULL" or not guarded:
        return sql
    return f"CASE WHEN typeof({sql}) = 'integer' THEN {sql} END"


def _decoded(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Blobs as text; bytes that are no UTF-8 (a name cut within a letter) become a replacement mark."""
    schema = pa.schema([(f.name, pa.string() if pa.types.is_binary(f.type) else f.type) for f in reader.schema])
    batches = (pa.record_batch([_text_column(c) for c in batch.columns], schema=schema) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _text_column(column: pa.Array) -> pa.Array:
    if not pa.types.is_binary(column.type):
        return column
    return pa.array([value.decode(errors="replace") for value in column.to_pylist()], pa.string())


def refuse_cut_off(path: Path, shown: Path) -> None:
    """Raise InputError where the file is shorter than its header says: SQLite would take its last page for empty."""
    with path.open("rb") as file:
        head = file.read(100)
    size, changed, pages, valid_for = (int.from_bytes(head[a:b], "big") for a, b in PLACES)
    whole, there = (65536 if size == 1 else size) * pages, path.stat().st_size
    if changed == valid_for and there < whole:
        raise InputError(f"{shown} is cut off ({there:,} of {whole:,} bytes): copy or export it again.")


def reason(fault: BaseException) -> str:
    """The first line of a driver's complaint, without its prefix."""
    return PREFIX.sub("", next(iter(str(fault).splitlines()), type(fault).__name__))[:160]


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
