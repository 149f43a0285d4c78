"""The files of `stepprof placement`: CSV of expert uses, facts (JSON lines), or runs that hold facts.

use_tables(["uses.csv"]), use_tables(["code=code.jsonl", "chat=chat.duckdb"])
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from stepprof.analyses.placement.use_facts import uses_of_facts
from stepprof.analyses.placement.use_table import UseTable, csv_uses, joined
from stepprof.profiler.commands.shared import opened
from stepprof.profiler.errors import UsageError
from stepprof.profiler.ingest.facts import load_facts
from stepprof.profiler.ingest.formats import is_run_file
from stepprof.profiler.ingest.side_file import side_bytes
from stepprof.profiler.store import SCHEMA, Store


def use_tables(given: Sequence[str]) -> UseTable:
    """All of them as one table."""
    return joined([_table(*_named(text)) for text in given])


def _named(text: str) -> tuple[str | None, Path]:
    """NAME=FILE as both; a file may have = in its own name."""
    name, equals, path = text.partition("=")
    if not equals or os.path.exists(text):
        return None, Path(text)
    if not (name and path):
        raise UsageError(f"{text} names no file of expert uses: write NAME=FILE.")
    return name, Path(path)


def _table(name: str | None, path: Path) -> UseTable:
    if os.path.isfile(path) and (is_run_file(path) or _holds_facts(path)):
        with opened(path) if is_run_file(path) else _opened_facts(path) as store:
            return uses_of_facts(store, str(path), Path(path.name.removesuffix(".gz")).stem, name)
    if name is not None:
        raise UsageError(f"{name}={path}: a CSV names its classes itself: give it without {name}=.")
    return csv_uses(path)


def _holds_facts(path: Path) -> bool:
    """Whether the first character says JSON lines."""
    return side_bytes(path)[:4096].lstrip()[:1] == b"{"


@contextmanager
def _opened_facts(path: Path) -> Generator[Store]:
    """A facts file as a run without a trace."""
    store = Store(duckdb.connect(), path)
    try:
        store.con.execute(SCHEMA.read_text())
        load_facts(path, store)
        yield store
    finally:
        store.close()
