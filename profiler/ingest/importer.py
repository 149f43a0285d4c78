"""Trace files -> a run file: `import_run`; the counts and warnings of a run: `summary`.

A source is opened read-only; the run file appears whole or not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi as adbc
import duckdb
import pyarrow as pa

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.cupti_records import load_records
from stepprof.profiler.ingest.edges import load_edges
from stepprof.profiler.ingest.facts import load_costs, load_facts
from stepprof.profiler.ingest.formats import KINETO_JSON, NSYS_SQLITE, RECORDS, Source, opened
from stepprof.profiler.ingest.kineto import load_kineto
from stepprof.profiler.ingest.nsys_load import load_nsys
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.ingest.sqlite_reader import SqliteExport, reason
from stepprof.profiler.store import Store, create

CLEAN_SQL = Path(__file__).with_name("clean.sql")
TOOLS = {NSYS_SQLITE: "nsys", KINETO_JSON: "torch.profiler", RECORDS: "stepprof capture"}
# what a file that breaks off, or holds values that nothing can mean, raises while its rows are read
DAMAGE = (duckdb.InvalidInputException, duckdb.DataError, duckdb.IntegrityError, pa.ArrowInvalid, adbc.Error, OSError)


@dataclass(frozen=True)
class Extras:
    """Files that add to a trace what it does not hold."""

    edges: Path | None = None
    facts: Path | None = None
    costs: Path | None = None

    @property
    def files(self) -> list[Path]:
        """Those given."""
        return [p for p in (self.edges, self.facts, self.costs) if p is not None]


def import_run(
    trace: Path, out: Path, extras: Extras, force: bool = False, finish: Callable[[Store], None] | None = None
) -> None:
    """Read a trace file into the run file `out`; InputError where either is at fault.

    `finish` adds to the run what its maker knows, before the file appears.
    """
    if out.exists() and trace.exists() and out.samefile(trace):
        raise InputError(f"{out} is the trace itself: choose another -o.")
    with opened(trace) as source, create(out, force) as store:
        if source.format not in TOOLS:
            raise InputError(f"{trace} is a run file already: use it as it is.")
        _identify(store, trace, source)
        READERS[source.format](store, trace, source)
        store.con.execute(CLEAN_SQL.read_text())
        _add(store, extras)
        if finish is not None:
            finish(store)


def content_hash(path: Path) -> str:
    """BLAKE2b of a file's bytes, hexadecimal; of a folder of record files, of their hashes."""
    if path.is_dir():
        parts = [content_hash(file) for file in record_files(path)]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()
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


def _identify(store: Store, trace: Path, source: Source) -> None:
    facts = {
        "format": source.format,
        "tool": TOOLS[source.format],
        "source": trace.name,
        "source_hash": content_hash(trace),
    }
    store.con.executemany("INSERT INTO run VALUES (?, ?)", list(facts.items()))


def _read_nsys(store: Store, trace: Path, source: Source) -> None:
    export = SqliteExport(source.path, shown=trace)
    try:
        load_nsys(export, store)
    except DAMAGE as fault:
        raise InputError(f"{trace} is damaged ({reason(fault)}): run nsys export again.") from None
    finally:
        export.close()


def _read_kineto(store: Store, trace: Path, source: Source) -> None:
    load_kineto(trace, store)


def _read_records(store: Store, trace: Path, source: Source) -> None:
    load_records(trace if trace.is_dir() else source.path, store)


READERS = {NSYS_SQLITE: _read_nsys, KINETO_JSON: _read_kineto, RECORDS: _read_records}


def _add(store: Store, extras: Extras) -> None:
    if extras.edges:
        load_edges(extras.edges, store)
    if extras.facts:
        load_facts(extras.facts, store)
    if extras.costs:
        load_costs(extras.costs, store)
