"""Trace files -> a run file: `import_run`; the counts and warnings of a run: `summary`.

A source is opened read-only; the run file appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as adbc
import duckdb
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.clean import clean
from stepprof.profiler.ingest.cupti_records import load_records
from stepprof.profiler.ingest.edges import load_edges
from stepprof.profiler.ingest.facts import load_costs, load_facts
from stepprof.profiler.ingest.formats import (
    KINETO_JSON,
    NSYS_CAPTURE,
    NSYS_PARQUET,
    NSYS_REPORT,
    NSYS_SQLITE,
    RECORDS,
    RUN_FILE,
    Source,
    opened,
)
from stepprof.profiler.ingest.kineto import load_kineto
from stepprof.profiler.ingest.nsys_load import load_nsys
from stepprof.profiler.ingest.parquet_reader import ParquetExport, parquet_files
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.ingest.residents import load_residents
from stepprof.profiler.ingest.run_copy import copy_run
from stepprof.profiler.ingest.sqlite_reader import SqliteExport, reason
from stepprof.profiler.ingest.window import FILE as WINDOW_FILE
from stepprof.profiler.ingest.window import keep_window, window_of
from stepprof.profiler.store import Store, create

NSYS = (NSYS_SQLITE, NSYS_PARQUET, NSYS_REPORT, NSYS_CAPTURE)
TOOLS = dict.fromkeys(NSYS, "nsys") | {KINETO_JSON: "torch.profiler", RECORDS: "stepprof capture"}
# what a file that breaks off, or holds values that nothing can mean, raises while its rows are read
DAMAGE = (
    duckdb.InvalidInputException,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.OutOfMemoryException,
    pa.ArrowException,
    adbc.Error,
    OSError,
)


@dataclass(frozen=True)
class Extras:
    """Files that add to a trace what it does not hold."""

    edges: Path | None = None
    facts: Path | None = None
    costs: Path | None = None
    resident: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Those given."""
        return [p for p in (self.edges, self.facts, self.costs, self.resident) if p is not None]


def import_run(
    trace: Path,
    out: Path,
    extras: Extras,
    force: bool = False,
    finish: Callable[[Store], object] | None = None,
    cpu_stand_in: bool = False,
) -> None:
    """Read a trace file into the run file `out`; InputError where either is at fault.

    A run file is copied, where something is added to it: what it had of the same kind is replaced.
    `finish` may add to the run once its rows are there; where it raises, no run appears. `cpu_stand_in` is for
    a capture without a GPU (kineto_stand_in).
    """
    refuse_own_output(trace, out)
    with opened(trace) as source, create(out, force) as store:
        if source.format == RUN_FILE:
            if not extras.files and finish is None:
                raise InputError(
                    f"{trace} is a run file already: use it as it is, or name what to add "
                    "(--facts, --costs, --resident, --edges, --labels-from)."
                )
            copy_run(store, source.path, trace)
        else:
            _read_whole(store, trace, source, cpu_stand_in)
        add_extras(store, extras)
        if source.format == RECORDS:
            keep_window(store, window_of(source.path), recorded=True)
        if finish is not None:
            finish(store)


def refuse_own_output(trace: Path, out: Path) -> None:
    """InputError where a run would replace the trace that it is read from."""
    if out.exists() and trace.exists() and out.samefile(trace):
        raise InputError(f"{out} is the trace itself: choose another -o.")


def content_hash(path: Path) -> str:
    """BLAKE2b of a file's bytes, or of the names and bytes of a folder's tables or records and window, hexadecimal."""
    if path.is_dir():
        files = [*(record_files(path) or parquet_files(path)), *path.glob(WINDOW_FILE)]
        tables = [f"{file.name} {content_hash(file)}" for file in files]
        return hashlib.blake2b(os.fsencode("\n".join(tables)), digest_size=20).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def summary(store: Store) -> dict[str, Any]:
    """Format, tool, devices, counts and warnings of a run, as `import --json` prints them."""
    devices = [{"ordinal": d, "name": n} for d, n in store.rows("SELECT device, name FROM device ORDER BY device")]
    counts = dict(store.rows((Path(__file__).with_name("counts.sql")).read_text()))
    return {
        "run": str(store.path),
        "format": store.fact("format"),
        "tool": " ".join(filter(None, [store.fact("tool"), store.fact("tool_version")])),
        "devices": devices,
        "counts": counts,
        "warnings": store.warnings(),
    }


def _read_whole(store: Store, trace: Path, source: Source, cpu_stand_in: bool) -> None:
    """Fill the store, and say in table run what it was filled from."""
    with ThreadPoolExecutor(1) as beside:  # hashing lets go of the interpreter, so it costs a second core only
        digest = beside.submit(content_hash, trace)
        _identify(store, trace, source)
        _read(store, trace, source, cpu_stand_in)
        store.con.execute("INSERT INTO run VALUES ('source_hash', ?)", [digest.result()])


def _identify(store: Store, trace: Path, source: Source) -> None:
    facts = {
        "format": source.format,
        "tool": TOOLS[source.format],
        "source": os.fsencode(trace.name).decode(errors="replace"),
    }
    store.con.executemany("INSERT INTO run VALUES (?, ?)", list(facts.items()))


def _read(store: Store, trace: Path, source: Source, cpu_stand_in: bool = False) -> None:
    """Fill the store; a file that turns out to be damaged is one sentence."""
    try:
        if cpu_stand_in and source.format == KINETO_JSON:
            load_kineto(trace, store, cpu_stand_in=True)
        else:
            READERS[source.format](store, trace, source)
        clean(store)
    except DAMAGE as fault:
        if isinstance(fault, OSError) and fault.errno:
            raise  # the system's fault, not the file's
        if "KeyboardInterrupt" in str(fault):  # Ctrl-C while DuckDB read through us
            raise KeyboardInterrupt from None
        raise InputError(f"{trace} is damaged ({reason(fault)}): export or record it again.") from None


def _read_sqlite(store: Store, trace: Path, source: Source) -> None:
    with closing(SqliteExport(source.path, shown=trace)) as export:
        load_nsys(export, store)
    pending = [side for side in ("-wal", "-journal") if _has_bytes(Path(f"{source.path}{side}"))]
    store.warn("changes_pending", len(pending), f"Changes still in {trace.name}{''.join(pending)} were not read.")


def _has_bytes(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:  # the suffix can make a name too long
        return False


def _read_parquet(store: Store, trace: Path, source: Source) -> None:
    load_nsys(ParquetExport(source.path), store)


def _read_kineto(store: Store, trace: Path, source: Source) -> None:
    load_kineto(trace, store)


def _read_records(store: Store, trace: Path, source: Source) -> None:
    load_records(source.path, store)


READERS = dict.fromkeys(NSYS, _read_sqlite) | {
    NSYS_PARQUET: _read_parquet, KINETO_JSON: _read_kineto, RECORDS: _read_records,
}  # fmt: skip


def add_extras(store: Store, extras: Extras) -> None:
    """Read the files that add to a trace."""
    if extras.edges:
        load_edges(extras.edges, store)
    if extras.facts:
        load_facts(extras.facts, store)
    if extras.costs:
        load_costs(extras.costs, store)
    if extras.resident:
        load_residents(extras.resident, store)
