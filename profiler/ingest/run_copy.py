"""A run file -> a copy that side files may add to: what `import RUN.duckdb --facts FILE` starts from.

copy_run(store, Path("run.duckdb"), without=("step_fact", "call_fact"))
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb

from stepprof.profiler.errors import InputError
from stepprof.profiler.store import Store, open_run

TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY table_name"  # those of the schema
ORIGIN = Path(__file__).with_name("origin.sql")  # which edges of a side file need
OWN = {"run": "WHERE key <> 'schema_version'"}  # the new file has its own


def copy_run(store: Store, run: Path, without: Collection[str]) -> None:
    """Fill a new run with all rows of another, but for some tables; InputError where that is damaged or of another version."""
    open_run(run).close()
    tables = [table for (table,) in store.rows(TABLES) if table not in without]
    quoted = str(run.absolute()).replace("'", "''")
    store.con.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
    try:
        for table in tables:
            store.con.execute(f'INSERT INTO "{table}" BY NAME SELECT * FROM source."{table}" {OWN.get(table, "")}')
    except (duckdb.DataError, duckdb.CatalogException, duckdb.BinderException) as fault:
        what = str(fault).splitlines()[0][:160]
        raise InputError(f"{run} is damaged ({what}): import the trace again.") from None
    store.con.execute("DETACH source")
    store.con.execute(ORIGIN.read_text())
