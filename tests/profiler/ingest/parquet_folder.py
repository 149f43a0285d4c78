"""A parquetdir export made from an SQLite one, with the types that nsys writes: ids are unsigned there."""

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SIGNED = ("start", "end", "duration", "startTime", "stopTime", "int64Value", "int32Value")
REALS = {"doubleValue": pa.float64(), "floatValue": pa.float32()}
TEXTS = ("text", "name", "value", "jsonText", "utcTime", "localTime", "busLocation")


def parquet_folder(sqlite: Path, folder: Path) -> Path:
    """Every table of the export as a parquet file of the folder."""
    folder.mkdir()
    con = sqlite3.connect(f"file:{sqlite}?mode=ro", uri=True)
    for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = con.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        columns = zip(*cursor.fetchall(), strict=True)
        arrays = [_array(name, list(cells)) for name, cells in zip(names, columns, strict=False)]
        pq.write_table(pa.table(dict(zip(names, arrays, strict=False))), folder / f"{table}.parquet")
    con.close()
    return folder


def _array(name: str, cells: list) -> pa.Array:
    if name in REALS:
        return pa.array(cells, REALS[name])
    if name in TEXTS and not all(isinstance(cell, int | None) for cell in cells):
        return pa.array(cells, pa.large_string())
    if name in SIGNED:
        return pa.array(cells, pa.int64())
    return pa.array([None if cell is None else cell % 2**64 for cell in cells], pa.uint64())
