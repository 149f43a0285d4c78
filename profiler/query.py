"""One SQL statement on a run, on a connection that can neither read nor write files.

    rows = ask(store, "SELECT name, count(*) FROM op_account GROUP BY name")

The run is open read-only; external access is off and the configuration locked, so no
statement reaches the file system, the network or an extension.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from dataclasses import dataclass
from typing import Any

import duckdb

from stepprof.profiler.errors import UsageError
from stepprof.profiler.store import Store

LOCKS = (
    "SET python_enable_replacements = false",  # no Python variable answers as a table
    "SET allow_community_extensions = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
ACCOUNT = re.compile(r"\b(step|op_account|gap)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """The rows of a query; `more` tells that the limit cut some off."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool


def wants_account(sql: str) -> bool:
    """Whether a statement names a table that only the account of the run gives."""
    return bool(ACCOUNT.search(sql))


def ask(store: Store, sql: str, limit: int = 1000) -> Answer:
    """At most `limit` rows as plain values; UsageError with DuckDB's own sentence where the SQL is wrong."""
    _lock(store)
    try:
        cursor = store.con.execute(sql)
        columns = [str(column[0]) for column in (cursor and cursor.description) or ()]  # none for no statement
        rows = cursor.fetchmany(limit + 1) if columns else []
    except (duckdb.Error, RuntimeError) as fault:
        lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
        raise UsageError(f"the query failed: {' '.join(lines[:2])[:400]}") from None
    return Answer(columns, [[_plain(value) for value in row] for row in rows[:limit]], len(rows) > limit)


def _lock(store: Store) -> None:
    """Close every way out, once: a locked configuration takes no more settings."""
    if not store.value("SELECT current_setting('lock_configuration')"):
        for lock in LOCKS:
            store.con.execute(lock)


def _plain(value: Any) -> Any:
    """A value that JSON has: numbers, text, lists, objects, null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
