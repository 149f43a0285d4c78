"""A run file: one DuckDB file that holds one recorded run (tables: schema.sql).

`create` writes to a temporary file beside the target and renames it at the end,
so a failed or interrupted import leaves nothing behind. `open_run` opens a run
read-only; analyses may add temporary tables, which live in memory.

    with create(Path("run.duckdb")) as store: ...      # rows go in
    store = open_run(Path("run.duckdb"))               # rows come out
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import numpy as np

from stepprof.profiler.errors import InputError

if TYPE_CHECKING:
    import pandas as pd  # imported by DuckDB when a frame is asked for; a third of a second

SCHEMA_VERSION = 3
SCHEMA = Path(__file__).with_name("schema.sql")
MEMORY_LIMIT = "256MB"
# where a write, a checkpoint or a commit finds the disk full
WRITE_FAULTS = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException)
READ_LIMIT = "1GB"  # joins of five million launches would spill below; smaller runs take what they need


@dataclass
class Store:
    """An open run. `con` is its DuckDB connection, `path` its file."""

    con: duckdb.DuckDBPyConnection
    path: Path
    _notes: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """All rows of a query; `params` are bound, never pasted."""
        return self.con.execute(sql, list(params)).fetchall()

    def value(self, sql: str, *params: Any) -> Any:
        """First column of the first row, None where there is no row."""
        rows = self.rows(sql, *params)  # all of them: a result left unfinished bars other work
        return rows[0][0] if rows else None

    def arrays(self, sql: str, *params: Any) -> dict[str, np.ndarray]:
        """A query as numpy arrays by column name."""
        return cast("dict[str, np.ndarray]", self.con.execute(sql, list(params)).fetchnumpy())

    def frame(self, sql: str, *params: Any) -> pd.DataFrame:
        """A query as a DataFrame."""
        return self.con.execute(sql, list(params)).df()

    def fact(self, key: str) -> str | None:
        """A fact of table `run`."""
        return self.value("SELECT value FROM run WHERE key = ?", key)

    def warn(self, code: str, count: int, text: str) -> None:
        """Keep a counted warning in the run; a count of 0 is none."""
        if count:
            self.con.execute("INSERT INTO warning VALUES (?, ?, ?)", [code, count, text])

    def warnings(self) -> list[dict[str, Any]]:
        """The run's warnings, as the CLI contract prints them."""
        rows = self.rows("SELECT code, count, text FROM warning")
        return [{"code": c, "count": n, "text": t} for c, n, t in rows]

    def close(self) -> None:
        """Close the file."""
        self.con.close()


@contextmanager
def create(path: Path, force: bool = False) -> Generator[Store]:
    """Make a run file; it appears at `path` only if the block ends without a fault.

    Raises InputError where the file exists (without `force`) or cannot be written.
    """
    if path.exists() and not force:
        raise InputError(f"{path} exists already: choose another -o or pass --force.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} cannot be written (it is no regular file): choose another -o.")
    partial = _partial_path(path)
    store = None
    try:
        store = Store(_connect(partial, read_only=False), path)
        store.con.execute(f"BEGIN; {SCHEMA.read_text()} COMMIT")
        store.con.execute("INSERT INTO run VALUES ('schema_version', ?)", [str(SCHEMA_VERSION)])
        yield store
        store.con.execute("CHECKPOINT")
        store.close()
        _move(partial, path)
    except WRITE_FAULTS as fault:
        reason = _first_line(fault, most=1000).rpartition(": ")[2]  # after our temporary file's name
        raise InputError(f"{path} cannot be written ({reason}): free space or choose another -o.") from None
    finally:
        if store is not None:
            store.close()
        for leftover in (partial, partial.with_name(partial.name + ".wal")):
            leftover.unlink(missing_ok=True)


def open_run(path: Path) -> Store:
    """Open a run file read-only; InputError where it is none or newer than this tool."""
    try:
        store = Store(_connect(path, read_only=True), path)
    except (duckdb.Error, OSError) as fault:
        raise InputError(f"{path} is not a readable run file ({_first_line(fault)}): import the trace again.") from None
    version = _schema_version(store)
    if version != SCHEMA_VERSION:
        store.close()
        newer = version is not None and version > SCHEMA_VERSION
        way_out = "update stepprof" if newer else "import the trace again"
        raise InputError(f"{path} has run-file version {version}, this stepprof reads {SCHEMA_VERSION}: {way_out}.")
    return store


def _connect(path: Path, read_only: bool) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(
        str(path.absolute()),  # a bare md:x or :memory: means other things to DuckDB
        read_only=read_only,
        config={
            "memory_limit": READ_LIMIT if read_only else MEMORY_LIMIT,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        },
    )
    con.execute("SET temp_directory = ?", [str(Path(tempfile.gettempdir()) / f"stepprof-{os.getpid()}")])
    return con


def _partial_path(path: Path) -> Path:
    """A fresh name beside `path`, so that the final rename stays on one file system."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    except OSError as fault:
        raise InputError(f"{path} cannot be written ({fault.strerror}): choose another -o.") from None
    os.close(handle)
    os.unlink(name)
    return Path(name)


def _move(partial: Path, path: Path) -> None:
    try:
        os.replace(partial, path)
    except OSError as fault:
        raise InputError(f"{path} cannot be written ({fault.strerror}): choose another -o.") from None


def _schema_version(store: Store) -> int | None:
    try:
        return int(store.fact("schema_version") or 0)
    except (duckdb.Error, ValueError):
        return None


def _first_line(fault: BaseException, most: int = 160) -> str:
    return str(fault).splitlines()[0][:most]
