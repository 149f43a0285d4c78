"""An nsys SQLite export -> the tables and columns that stepprof reads, names cleaned, times of day left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.nsys_tables import BIG, SMALL, RawTable

LEFT_OUT = {"TARGET_INFO_SESSION_START_TIME"}  # when the capture was made
LEFT_OUT_COLUMNS = {"uuid", "busLocation"}  # which GPU it was
TEXT_IDS = ("nameId", "demangledName", "shortName", "textId", "jsonTextId")
TEXTS = {"NVTX_EVENTS": ("text", "jsonText")}
KEPT_META = "('EXPORT_PRODUCT_VERSION', 'EXPORT_SCHEMA_VERSION')"


def scrub_nsys(trace: Path, out: Path, clean: Callable[[str], str]) -> list[str]:
    """Write the copy, say what it lacks."""
    changed: set[str] = set()

    def cleaned(text: str | None) -> str | None:
        result = clean(text) if isinstance(text, str) else text
        if result != text:
            changed.add(str(text))
        return result

    try:
        with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as con:
            con.create_function("cleaned", 1, cleaned, deterministic=True)
            con.execute("ATTACH ? AS copy", [str(out)])
            removed = list(_copy(con))
            con.commit()
    except sqlite3.DatabaseError as fault:
        raise InputError(f"{trace} is damaged ({fault}): run nsys export again.") from None
    return [*removed, *([f"paths, addresses or ids in {len(changed)} texts"] if changed else [])]


def _copy(con: sqlite3.Connection) -> Iterator[str]:
    names = [n for (n,) in con.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name")]
    columns = {name: [row[1] for row in con.execute(f'PRAGMA main.table_info("{name}")')] for name in names}
    wanted = {table.pick(columns): table for table in (*SMALL, *BIG)}
    for name in names:
        table = wanted.get(name)
        if table is None or name in LEFT_OUT:
            (count,) = con.execute(f'SELECT count(*) FROM main."{name}"').fetchone()
            yield f"table {name} ({count} rows)"
        elif name != "StringIds":
            kept = [column for column in columns[name] if column in table.columns and column not in LEFT_OUT_COLUMNS]
            _copy_table(con, name, kept)
            if lost := [column for column in columns[name] if column not in kept]:
                yield f"columns of {name}: {', '.join(lost)}"
    if "StringIds" in names:
        yield from _copy_strings(con, wanted, columns)


def _copy_table(con: sqlite3.Connection, name: str, kept: list[str]) -> None:
    cells = [f'cleaned("{c}") AS "{c}"' if c in TEXTS.get(name, ()) else f'"{c}"' for c in kept]
    where = f" WHERE name IN {KEPT_META}" if name in ("META_DATA_EXPORT", "EXPORT_META_DATA") else ""
    con.execute(f'CREATE TABLE copy."{name}" AS SELECT {", ".join(cells)} FROM main."{name}"{where}')


def _copy_strings(
    con: sqlite3.Connection, wanted: dict[str | None, RawTable], columns: dict[str, list[str]]
) -> Iterator[str]:
    """Only the strings that the kept rows name: the rest are paths and settings of the machine."""
    used = [
        f'SELECT "{column}" FROM copy."{name}"'
        for name in wanted
        if name is not None and name not in ("StringIds", *LEFT_OUT)
        for column in columns[name]
        if column in TEXT_IDS
    ]
    chosen = " UNION ".join(used) or "SELECT NULL"
    con.execute(
        f"CREATE TABLE copy.StringIds AS SELECT id, cleaned(value) AS value FROM main.StringIds WHERE id IN ({chosen})"
    )
    (kept,) = con.execute("SELECT count(*) FROM copy.StringIds").fetchone()
    (every,) = con.execute("SELECT count(*) FROM main.StringIds").fetchone()
    yield f"{every - kept} strings that no kept row names"
