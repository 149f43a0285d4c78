"""A run file -> a copy that side files may add to: what `import RUN.duckdb --facts FILE` starts from.

copy_run(store, plain, shown=Path("run.duckdb.gz"))
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from stepprof.profiler.errors import InputError
from stepprof.profiler.store import WRITE_FAULTS, Store, open_run

TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY table_name"  # those of the schema
ORIGIN = Path(__file__).with_name("origin.sql")  # which edges of a side file need
OWN = {"run": "WHERE key <> 'schema_version'"}  # the new file has its own


def copy_run(store: Store, run: Path, shown: Path) -> None:
    """Fill a new run with all rows of another, which sentences call `shown`.

    InputError where that is damaged or of another version.
    """
    open_run(run).close()
    tables = [table for (table,) in store.rows(TABLES)]
    quoted = str(run.absolute()).replace("'", "''")
    try:
        store.con.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
        for table in tables:
            store.con.execute(f'INSERT INTO "{table}" BY NAME SELECT * FROM source."{table}" {OWN.get(table, "")}')
        store.con.execute("DETACH source")
    except WRITE_FAULTS:
        raise
    except duckdb.Error as fault:
        what = str(fault).splitlines()[0][:160]
        raise InputError(f"{shown} is damaged ({what}): import the trace again.") from None
    store.con.execute(ORIGIN.read_text())
