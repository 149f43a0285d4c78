"""The least that any tool must do: what the product's times are divided by.

load_floor    adbc reads the columns that stepprof reads into a DuckDB file, nothing else
sql_floor     one statement over that file: ops joined to calls and steps, grouped by step and
              name, and the union of each step's ops
json_floor    msgspec decodes the events of a trace chunk by chunk as typed structs

The columns and structs are stepprof's own, so that both sides read the same.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import msgspec
from tiling import API, MARK, NVTX, OPS

from stepprof.profiler.ingest.kineto_events import FloatEvent
from stepprof.profiler.ingest.nsys_tables import BIG, SMALL
from stepprof.profiler.ingest.sqlite_reader import SqliteExport

MEMORY = "256MB"  # stepprof's own limit for DuckDB
BLOCK = 1 << 20
BORDER = b"\n  },"

STEPS_SQL = f"""
WITH mark AS (SELECT start AS low, "end" AS high FROM {NVTX} WHERE {MARK}),
stepped AS (
    SELECT mark.low AS step, o.start, o."end", o.name
    FROM ({{ops}}) o JOIN {API} call USING (correlationId)
    ASOF JOIN mark ON call.start >= mark.low
    WHERE call.start < mark.high
),
named AS (SELECT step, name, count(*) AS ops, sum("end" - start) AS work FROM stepped GROUP BY ALL),
reached AS (
    SELECT step, start, "end",
        max("end") OVER (PARTITION BY step ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM stepped
),
busy AS (SELECT step, sum(greatest("end" - greatest(start, coalesce(before, start)), 0)) AS busy FROM reached GROUP BY step)
SELECT count(DISTINCT step), sum(ops), sum(work), (SELECT sum(busy) FROM busy) FROM named
"""


def load_floor(export: Path, out: Path) -> dict[str, Any]:
    """Rows of all tables, copied."""
    out.unlink(missing_ok=True)
    source = SqliteExport(export)
    with duckdb.connect(out, config={"memory_limit": MEMORY, "preserve_insertion_order": "false"}) as con:
        for table in (*SMALL, *BIG):
            name = table.pick(source.tables)
            if name is not None:
                with source.batches(name, table.columns, guarded=False) as batch:
                    con.register("batch", batch)
                    con.execute(f"CREATE TABLE {name} AS FROM batch")
                    con.unregister("batch")
        found = con.execute(f"SELECT count(*) FROM {OPS[0]}").fetchone()
    source.close()
    return {"kernels": found and found[0]}


def sql_floor(loaded: Path) -> dict[str, Any]:
    """Steps, their ops and their work."""
    with duckdb.connect(loaded, read_only=True, config={"memory_limit": MEMORY}) as con:
        present = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        names = {OPS[0]: "demangledName", OPS[1]: "-copyKind", OPS[2]: "-100"}
        ops = " UNION ALL ".join(
            f'SELECT correlationId, start, "end", {name} AS name FROM {table}'
            for table, name in names.items()
            if table in present
        )
        row = con.execute(STEPS_SQL.format(ops=ops)).fetchone()
    assert row is not None
    return {"steps": row[0], "step_ops": int(row[1]), "step_work_ns": int(row[2])}


def json_floor(trace: Path) -> dict[str, Any]:
    """Kernels among the decoded events."""
    decoder = msgspec.json.Decoder(list[FloatEvent])
    kernels = 0
    with gzip.open(trace) as file:
        rest = file.read(BLOCK).partition(b'"traceEvents": [')[2]
        while block := file.read(BLOCK):
            text, _, rest = (rest + block).rpartition(BORDER)
            kernels += sum(event.cat == "kernel" for event in decoder.decode(b"[" + text + b"}]"))
    text = rest.rpartition(b"]")[0]
    return {"kernels": kernels + sum(event.cat == "kernel" for event in decoder.decode(b"[" + text + b"]"))}
