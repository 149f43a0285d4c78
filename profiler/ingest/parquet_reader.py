"""Tables of an nsys parquetdir export (`nsys export -t parquetdir`): one file a table.

Ids are unsigned 64-bit here and signed in SQLite; both become int64. A value that is no
integer becomes NULL, as in sqlite_reader, and so does a NaN, which SQLite cannot hold.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.nsys_tables import BIG, SMALL
from stepprof.profiler.ingest.sqlite_reader import reason

BATCH_ROWS = 16384
READ = frozenset(source for table in (*SMALL, *BIG) for source in table.sources)
FAULTS = (pa.ArrowException, OSError, ValueError)


class ParquetExport:
    """An export folder; `tables` maps each table that is read to its column names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = {table: self._columns(table) for table in readable_tables(folder)}

    def _columns(self, table: str) -> list[str]:
        with self._file(table) as file:
            return file.schema_arrow.names

    def _file(self, table: str) -> pq.ParquetFile:
        path = self.folder / f"{table}.parquet"
        try:
            return pq.ParquetFile(path)
        except FAULTS as fault:
            raise InputError(
                f"{path} is not a readable parquet file ({reason(fault)}): run nsys export again."
            ) from None

    @contextmanager
    def batches(self, table: str, wanted: dict[str, str], guarded: bool) -> Generator[pa.RecordBatchReader]:
        """Batches of `wanted` (name -> int or text) in the order asked for; always guarded."""
        del guarded
        schema = pa.schema([(name, pa.int64() if kind == "int" else pa.string()) for name, kind in wanted.items()])
        with self._file(table) as file:
            yield pa.RecordBatchReader.from_batches(schema, _batches(file, schema))

    def close(self) -> None:
        """Nothing stays open between tables."""


def parquet_files(folder: Path) -> list[Path]:
    """The table files of an export folder, by name."""
    return sorted(file for file in folder.iterdir() if file.suffix == ".parquet" and file.is_file())


def readable_tables(folder: Path) -> list[str]:
    """The tables of an export folder that an import reads."""
    return [file.stem for file in parquet_files(folder) if file.stem in READ]


def _batches(file: pq.ParquetFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    present = {name.lower(): name for name in reversed(file.schema_arrow.names)}  # of two alike the first
    names = [present.get(name.lower()) for name in schema.names]
    for batch in file.iter_batches(BATCH_ROWS, columns=[name for name in names if name]):
        columns = [_column(batch, name, field) for name, field in zip(names, schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


def _column(batch: pa.RecordBatch, name: str | None, field: pa.Field) -> pa.Array:
    """A column as int64 or text; absent ones and values of foreign types are NULL, absent text is ''."""
    found = batch.schema.get_all_field_indices(name) if name else []
    if pa.types.is_string(field.type):
        text = _as_text(batch.column(found[0])) if found else pa.nulls(batch.num_rows, field.type)
        return text.fill_null("")
    if not found or not _is_whole(batch.column(found[0]).type):
        return pa.nulls(batch.num_rows, pa.int64())
    return batch.column(found[0]).cast(pa.int64(), safe=False)  # 2^63 and above wrap, as SQLite's do


def _is_whole(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_boolean(kind)


def _as_text(column: pa.Array) -> pa.Array:
    """Numbers as Python writes them; bytes that are no UTF-8 become a replacement mark."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        try:
            text = column.cast(pa.string())
            text.validate(full=True)
            return text
        except pa.ArrowInvalid:
            column = column.cast(pa.large_binary())
    return pa.array([_text(value) for value in column.to_pylist()], pa.string())


def _text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
