"""A real nsys export repeated until it holds as many kernels as asked for, and what is true of it.

    tiled = tile(source, folder, kernels=1_000_000)
    tiled.path, tiled.truth.steps

What stands between the first and the last marked step is repeated, with its API calls,
ranges, copies and events; warm-up and graph capture stay as they are. Each repetition is
one period later and has correlation and event ids of its own; numbered marks count on.
Nothing here uses stepprof: the truth is counted by SQLite in the export it started from.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

OPS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
KERNEL, API, NVTX = OPS[0], "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
TIMED = (*OPS, API, NVTX, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
BY_CALL = ("CUPTI_ACTIVITY_KIND_CUDA_EVENT",)  # rows without a time of their own
MARK = "text GLOB 'step' OR text GLOB 'step/*'"


@dataclass(frozen=True)
class Truth:
    """What a right reader finds; `step_ops` and `step_work_ns` are of all steps together."""

    kernels: int
    copies: int
    steps: int
    step_ops: int
    ops_of_step: tuple[int, ...]  # of the steps of one repetition
    step_work_ns: int


@dataclass(frozen=True)
class Tiled:
    """An export and the truth about it."""

    path: Path
    truth: Truth


@dataclass(frozen=True)
class Body:
    """What is repeated: rows that start in [start, end)."""

    start: int
    end: int
    steps: int
    period: int
    correlations: int  # ids of a repetition are this much higher than those of the one before
    events: int


def tile(source: Path, folder: Path, kernels: int, single: bool = False) -> Tiled:
    """The export in `folder`, built if it is not there; `single` turns graph ops into launches of one kernel."""
    kind = "single" if single else "as_is"
    path = folder / f"{source.name.split('.')[0]}_{kind}_{kernels}.sqlite"
    note = path.with_suffix(".truth.json")
    if not note.exists():
        note.write_text(json.dumps(asdict(_build(source, path, kernels, single))))
    truth = json.loads(note.read_text())
    return Tiled(path, Truth(**truth | {"ops_of_step": tuple(truth["ops_of_step"])}))


def _build(source: Path, path: Path, kernels: int, single: bool) -> Truth:
    with gzip.open(source) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    with opened(path) as con:
        if single:
            _launch_singly(con)
        body = _body(con)
        inside, total = (con.execute(sql).fetchone()[0] for sql in _kernel_counts(body))
        tiles = max(round((kernels - total + inside) / inside), 1)
        truth = _truth(con, body, tiles)
        _repeat(con, body, tiles)
    return truth


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    """An export to be rewritten: no journal, since a broken build is built again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;")
        con.execute("BEGIN")
        yield con
        con.execute("COMMIT")


def tables(con: sqlite3.Connection) -> dict[str, list[str]]:
    """Table -> its columns."""
    names = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [row[1] for row in con.execute(f"PRAGMA table_info({name})")] for name in names}


def _body(con: sqlite3.Connection) -> Body:
    marks = con.execute(f'SELECT start, "end" FROM {NVTX} WHERE {MARK} ORDER BY start').fetchall()
    start, end = marks[0][0], marks[-1][1]
    between = sum(later - done for (_, done), (later, _) in pairwise(marks)) // (len(marks) - 1)
    correlations = con.execute(f"SELECT max(correlationId) FROM {API}").fetchone()[0]
    columns = {table: set(names) for table, names in tables(con).items()}
    events = [
        con.execute(f"SELECT max(eventSyncId) FROM {table}").fetchone()[0] or 0
        for table in columns
        if "eventSyncId" in columns[table]
    ]
    return Body(start, end, len(marks), end - start + between, correlations + 1, max(events, default=0) + 1)


def _kernel_counts(body: Body) -> tuple[str, str]:
    whole = f"SELECT count(*) FROM {KERNEL}"
    return f"{whole} WHERE start >= {body.start} AND start < {body.end}", whole


def _truth(con: sqlite3.Connection, body: Body, tiles: int) -> Truth:
    """Ops of the steps by the marks around their calls, from the export before it is repeated."""
    present = [table for table in OPS if table in tables(con)]
    ops = " UNION ALL ".join(f'SELECT correlationId AS id, "end" - start AS dur FROM {table}' for table in present)
    steps = con.execute(
        f"""SELECT count(*), sum(dur) FROM ({ops}) JOIN {API} call ON call.correlationId = id
            JOIN {NVTX} mark ON call.start >= mark.start AND call.start < mark."end" AND ({MARK})
            WHERE id > 0 GROUP BY mark.start ORDER BY mark.start"""
    ).fetchall()
    again = {table: con.execute(_kernel_counts(body)[0].replace(KERNEL, table)).fetchone()[0] for table in present}
    count = {table: con.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in present}
    grown = {table: count[table] + again[table] * (tiles - 1) for table in present}
    return Truth(
        kernels=grown.pop(KERNEL),
        copies=sum(grown.values()),
        steps=len(steps) * tiles,
        step_ops=sum(ops for ops, _ in steps) * tiles,
        ops_of_step=tuple(ops for ops, _ in steps),
        step_work_ns=sum(work for _, work in steps) * tiles,
    )


def _repeat(con: sqlite3.Connection, body: Body, tiles: int) -> None:
    """Repeat the body; what follows it moves to the end."""
    con.execute("CREATE TEMP TABLE tile AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT ?) "
                "SELECT k FROM n WHERE k < ?", (max(tiles - 1, 1), tiles))  # fmt: skip
    con.execute(
        f"CREATE TEMP TABLE calls AS SELECT DISTINCT correlationId AS id FROM {API} WHERE start BETWEEN ? AND ?",
        (body.start, body.end - 1),
    )
    added = (tiles - 1) * body.period
    for table, columns in tables(con).items():
        if table in TIMED:
            con.execute(
                f'UPDATE {table} SET start = start + ?, "end" = "end" + ? WHERE start >= ?', (added, added, body.end)
            )
            con.execute(_again(table, columns, body, f"start >= {body.start} AND start < {body.end}"))
        elif table in BY_CALL:
            con.execute(_again(table, columns, body, "correlationId IN (SELECT id FROM calls)"))
    con.execute("UPDATE ANALYSIS_DETAILS SET duration = duration + ?", (added,))


def _again(table: str, columns: list[str], body: Body, which: str) -> str:
    moved = {
        "start": f"start + k * {body.period}",
        "end": f'"end" + k * {body.period}',
        "correlationId": f"correlationId + k * {body.correlations}",
        "eventSyncId": f"eventSyncId + k * {body.events}",
        "text": f"iif(text GLOB 'step/*', 'step/' || (substr(text, 6) + k * {body.steps}), text)",
    }
    cells = ", ".join(moved.get(column, f'"{column}"') for column in columns)
    return (
        f"INSERT INTO {table} SELECT {cells} FROM tile CROSS JOIN (SELECT * FROM {table} WHERE {which} ORDER BY rowid)"
    )


def _launch_singly(con: sqlite3.Connection) -> None:
    """Every graph op gets a call of its own, 2 us after the one before; graph launches and nodes go."""
    present = [table for table in OPS if table in tables(con)]
    _plan_calls(con, present)
    launch, graph = (_string_id(con, name) for name in ("cudaLaunchKernel*", "cudaGraphLaunch*"))
    con.execute(
        f"""INSERT INTO {API} (start, "end", eventClass, globalTid, correlationId, nameId, returnValue)
            SELECT called, called + 1500, 0, thread, id, ?, 0 FROM single ORDER BY called""",
        (launch,),
    )
    con.execute(f"DELETE FROM {API} WHERE nameId = ?", (graph,))
    con.execute("DELETE FROM CUDA_GRAPH_NODE_EVENTS")
    for table in present:
        con.execute(
            f"""UPDATE {table} SET correlationId = single.id, graphNodeId = NULL FROM single
                WHERE single.source = '{table}' AND single.op = {table}.rowid"""
        )


def _plan_calls(con: sqlite3.Connection, present: list[str]) -> None:
    """Table `single`: op, new correlation id and time of the call for each graph op."""
    launched = " UNION ALL ".join(
        f"SELECT correlationId AS id, start, '{table}' AS source, rowid AS op FROM {table} WHERE graphNodeId IS NOT NULL"
        for table in present
    )
    con.execute(
        f"""CREATE TEMP TABLE single AS SELECT source, op, call.globalTid AS thread,
                (SELECT max(correlationId) FROM {API}) + row_number() OVER (ORDER BY o.start) AS id,
                call.start + 2000 * row_number() OVER (PARTITION BY o.id ORDER BY o.start) AS called
            FROM ({launched}) o JOIN {API} call ON call.correlationId = o.id"""
    )


def _string_id(con: sqlite3.Connection, pattern: str) -> int:
    return con.execute("SELECT id FROM StringIds WHERE value GLOB ?", (pattern,)).fetchone()[0]
