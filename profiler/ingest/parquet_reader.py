"""Tables of an nsys parquetdir export (`nsys export -t parquetdir`): one file a table.

Ids are unsigned 64-bit here and signed in SQLite; both become int64. A value that is no
integer becomes NULL, as in sqlite_reader.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.sqlite_reader import reason

BATCH_ROWS = 16384
FAULTS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)


class ParquetExport:
    """An export folder; `tables` maps each table to its column names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = {file.stem: self._file(file).schema_arrow.names for file in parquet_files(folder)}

    def _file(self, file: Path) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(file)
        except FAULTS as fault:
            raise InputError(
                f"{file} is not a readable parquet file ({reason(fault)}): run nsys export again."
            ) from None

    @contextmanager
    def batches(self, table: str, wanted: dict[str, str], guarded: bool) -> Generator[pa.RecordBatchReader]:
        """Batches of `wanted` (name -> int or text) in the order asked for; always guarded."""
        del guarded
        schema = pa.schema([(name, pa.int64() if kind == "int" else pa.string()) for name, kind in wanted.items()])
        with self._file(self.folder / f"{table}.parquet") as file:
            yield pa.RecordBatchReader.from_batches(schema, _batches(file, schema))

    def close(self) -> None:
        """Nothing stays open between tables."""


def parquet_files(folder: Path) -> list[Path]:
    """The table files of an export folder, by name."""
    return sorted(file for file in folder.glob("*.parquet") if file.is_file() and not file.is_symlink())


def _batches(file: pq.ParquetFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    present = {name.lower(): name for name in file.schema_arrow.names}
    names = [present.get(name.lower()) for name in schema.names]
    for batch in file.iter_batches(BATCH_ROWS, columns=[name for name in names if name]):
        columns = [_column(batch, name, field) for name, field in zip(names, schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


def _column(batch: pa.RecordBatch, name: str | None, field: pa.Field) -> pa.Array:
    """A column as int64 or text; absent ones and values of foreign types are NULL, absent text is ''."""
    if name is None:
        empty = pa.nulls(batch.num_rows, field.type)
        return empty.fill_null("") if pa.types.is_string(field.type) else empty
    column = batch.column(name)
    if pa.types.is_string(field.type):
        return _as_text(column).fill_null("")
    usable = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
    return column.cast(pa.int64(), safe=False) if usable else pa.nulls(batch.num_rows, pa.int64())


def _as_text(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([str(value) if value is not None else None for value in column.to_pylist()], pa.string())
