"""A run file -> a copy without who, where and with which arguments: all tables, fewer facts, cleaned names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from stepprof.profiler.store import Store, create, open_run

KEPT_FACTS = {"schema_version", "format", "tool", "tool_version", "graph_trace_rows", "rank"}
LOST_ENTRIES = {"command", "git_revision", "environment", "audit", "file_hashes", "launch", "run"}


def scrub_run(trace: Path, out: Path, clean: Callable[[str], str]) -> list[str]:
    """Write the copy, say what it lacks."""
    open_run(trace).close()  # refuses what is no run file of this version
    removed: list[str] = []
    with create(out) as store:
        quoted = str(trace.absolute()).replace("'", "''")
        store.con.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
        for (name,) in store.rows("SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'"):
            store.con.execute(f'DELETE FROM "{name}"')
            store.con.execute(f'INSERT INTO "{name}" FROM source."{name}"')
        store.con.execute("DETACH source")
        removed += _texts(store, "name", "text", clean) + _texts(store, "range", "payload", clean)
        removed += _facts(store)
    return removed


def _texts(store: Store, table: str, column: str, clean: Callable[[str], str]) -> list[str]:
    """Clean the distinct texts of a column."""
    texts = [t for (t,) in store.rows(f'SELECT DISTINCT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL')]
    pairs = [(text, result) for text in texts if (result := clean(text)) != text]
    if not pairs:
        return []
    store.con.register("pairs", pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}))
    store.con.execute(f'UPDATE "{table}" SET "{column}" = b FROM pairs WHERE "{column}" = a')
    store.con.unregister("pairs")
    return [f"paths, addresses or ids in {len(pairs)} texts of {table}"]


def _facts(store: Store) -> list[str]:
    """Facts, manifest entries, process ids and the time of day."""
    removed: list[str] = []
    for table, lost in (
        ("run", [key for (key,) in store.rows("SELECT key FROM run") if key not in KEPT_FACTS]),
        ("manifest", [key for (key,) in store.rows("SELECT key FROM manifest") if key in LOST_ENTRIES]),
    ):
        store.con.execute(f"DELETE FROM {table} WHERE key IN (SELECT unnest(?::VARCHAR[]))", [lost])
        removed += [f"{table} {key}" for key in sorted(lost)]
    store.con.execute("UPDATE process SET pid = NULL")
    store.con.execute("UPDATE device SET identity = NULL")
    store.con.execute("UPDATE clock SET epoch_ns = NULL")
    return [*removed, "process ids", "which GPUs they were", "the time of day"]
