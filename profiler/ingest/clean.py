"""Rows that cannot be true are left out and counted; every format goes through here.

    clean(store)

clean_times.sql drops rows with bad times, this module rows recorded twice, clean.sql completes
names, processes and devices and writes the warnings.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from stepprof.profiler.store import Store

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Rows:
    """A table whose rows are told apart by `columns`."""

    table: str
    columns: str
    text: str


ONCE = (
    Rows("op", "process, device, context, stream, correlation, graph_node, start_ns, end_ns, name_id", "ops"),
    Rows("api", "process, thread, correlation, start_ns, end_ns, name_id, result", "API calls"),
    Rows(
        "range", "process, thread, end_thread, start_ns, end_ns, name_id, domain, category, payload, nested", "ranges"
    ),
)
REPEATS = """
CREATE TEMP TABLE _repeat AS
SELECT unnest(list(rowid ORDER BY rowid)[2:]) AS id FROM {table} WHERE hash({columns}) IN (SELECT h FROM alike)
GROUP BY {columns} HAVING count(*) > 1;
INSERT INTO _dropped SELECT '{table}_duplicate', count(*), '{text} were recorded twice and counted once' FROM _repeat;
DELETE FROM {table} WHERE rowid IN (SELECT id FROM _repeat);
DROP TABLE _repeat
"""


def clean(store: Store) -> None:
    """Drop what cannot be true from a filled store, and count it as warnings."""
    store.con.execute((HERE / "clean_times.sql").read_text())
    for rows in ONCE:
        _drop_repeats(store, rows)
    store.con.execute((HERE / "clean.sql").read_text())


def _drop_repeats(store: Store, rows: Rows) -> None:
    """Keep one of equal rows; sorted hashes tell most files apart three times as fast as GROUP BY."""
    hashes = store.arrays(f"SELECT hash({rows.columns}) AS h FROM {rows.table}")["h"]
    hashes.sort()
    alike = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    if alike.size == 0:
        return
    store.con.register("alike", pa.table({"h": alike}))
    store.con.execute(REPEATS.format(table=rows.table, columns=rows.columns, text=rows.text))
    store.con.unregister("alike")
