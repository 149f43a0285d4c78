"""An nsys SQLite export -> the tables and columns that stepprof reads, names cleaned, times of day left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.nsys_tables import BIG, SMALL
from stepprof.profiler.scrub_ids import global_ids, numbered, pid_of
from stepprof.profiler.scrub_text import TextCleaner

LEFT_OUT = {"TARGET_INFO_SESSION_START_TIME"}  # when the capture was made
LEFT_OUT_COLUMNS = {"uuid", "busLocation", "stopTime"}  # which GPU it was, and a time that is not read
TEXT_IDS = ("nameId", "demangledName", "shortName", "textId", "jsonTextId")
TEXTS = {"NVTX_EVENTS": ("text", "jsonText"), "TARGET_INFO_GPU": ("name",)}
TOLD = {  # texts that are left out and say who and where: users and machines to look for in the rest
    "StringIds": "value",
    "META_DATA_CAPTURE": "value",
    "TARGET_INFO_SYSTEM_ENV": "value",
    "NVTX_EVENTS": "text",
}
MACHINE_NAMES = "SELECT value FROM main.TARGET_INFO_SYSTEM_ENV WHERE name LIKE '%host%name%'"
GLOBAL_IDS = {"globalTid", "endGlobalTid", "globalPid"}
DAY_NS = 86_400_000_000_000
WRITE_FAULTS = ("SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC",
                "SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_TRUNCATE")  # fmt: skip
KEPT_META = "('EXPORT_PRODUCT_VERSION', 'EXPORT_SCHEMA_VERSION')"


def scrub_nsys(trace: Path, out: Path, clean: TextCleaner) -> list[str]:
    """Write the copy, say what it lacks."""
    try:
        with closing(sqlite3.connect(f"{trace.absolute().as_uri()}?mode=ro", uri=True)) as con:
            con.text_factory = lambda data: data.decode(errors="replace")
            con.create_function("cleaned", 1, lambda text: clean(text) if isinstance(text, str) else text)
            con.execute("ATTACH ? AS copy", [str(out)])
            con.execute("PRAGMA copy.journal_mode = OFF")  # a copy that fails is removed
            con.execute("PRAGMA copy.synchronous = OFF")
            removed = list(_Copy(con, clean).tables())
            con.commit()
    except sqlite3.DatabaseError as fault:
        if getattr(fault, "sqlite_errorname", "") in WRITE_FAULTS:  # Python's own faults have none
            raise InputError(f"{out} cannot be written ({fault}): free space or choose another -o.") from None
        raise InputError(f"{trace} is damaged ({fault}): run nsys export again.") from None
    return [*removed, "process and thread ids (numbered anew)"]


class _Copy:
    """The tables of an export on their way into the attached database `copy`."""

    def __init__(self, con: sqlite3.Connection, clean: TextCleaner) -> None:
        self._con = con
        names = [n for (n,) in con.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name")]
        self._columns = {name: [row[1] for row in con.execute(f'PRAGMA main.table_info("{name}")')] for name in names}
        self._wanted = {table.pick(self._columns): table for table in (*SMALL, *BIG)}
        self._learn(clean)
        self._number()
        self._zero = self._first_time()

    def tables(self) -> Iterator[str]:
        """Copy them all; what they lack, in words."""
        for name, columns in self._columns.items():
            table = self._wanted.get(name)
            if table is None or name in LEFT_OUT:
                yield f"table {name} ({self._count('main', name)} rows)"
            elif name != "StringIds":
                kept = [column for column in columns if column in table.columns and column not in LEFT_OUT_COLUMNS]
                self._copy(name, kept)
                if lost := [column for column in columns if column not in kept]:
                    yield f"columns of {name}: {', '.join(lost)}"
        if "StringIds" in self._columns:
            yield from self._strings()

    def _learn(self, clean: TextCleaner) -> None:
        """Users and machines that are named where nothing is kept; they may stand in names as well."""
        for name, column in TOLD.items():
            if column in self._columns.get(name, ()):
                clean.learn(text for (text,) in self._con.execute(f'SELECT DISTINCT "{column}" FROM main."{name}"'))
        if {"name", "value"} <= set(self._columns.get("TARGET_INFO_SYSTEM_ENV", ())):
            clean.learn((), [text for (text,) in self._con.execute(MACHINE_NAMES)])

    def _number(self) -> None:
        """SQL functions that number processes and threads anew."""
        given = self._values(GLOBAL_IDS)
        pids = numbered({pid_of(value) for value in given} | self._values({"pid"}))
        self._con.create_function("new_pid", 1, pids.get)
        self._con.create_function("new_id", 1, global_ids(given, pids).get)

    def _first_time(self) -> int:
        """What is taken off every time: times that do not count from the session's start tell when it was."""
        found = [
            self._con.execute(f'SELECT min("start") FROM main."{name}"').fetchone()[0]
            for name, table in self._wanted.items()
            if name is not None and "start" in table.columns and "start" in self._columns[name]
        ]
        first = min((time for time in found if isinstance(time, int)), default=0)
        return first if first > DAY_NS else 0

    def _values(self, wanted: set[str]) -> set[int]:
        """All integers in columns of these names, over the tables that are kept."""
        found: set[int] = set()
        for name, table in self._wanted.items():
            for column in wanted & set(self._columns.get(name or "", ())) & table.columns.keys():
                rows = self._con.execute(f'SELECT DISTINCT "{column}" FROM main."{name}"')
                found |= {value for (value,) in rows if isinstance(value, int)}
        return found

    def _copy(self, name: str, kept: list[str]) -> None:
        cells = [f'{self._cell(name, column)} AS "{column}"' for column in kept]
        where = f" WHERE name IN {KEPT_META}" if name in ("META_DATA_EXPORT", "EXPORT_META_DATA") else ""
        self._con.execute(f'CREATE TABLE copy."{name}" AS SELECT {", ".join(cells)} FROM main."{name}"{where}')

    def _cell(self, name: str, column: str) -> str:
        if column in TEXTS.get(name, ()):
            return f'cleaned("{column}")'
        if column in GLOBAL_IDS or column == "pid":
            return f'{"new_pid" if column == "pid" else "new_id"}("{column}")'
        return f'"{column}" - {self._zero}' if self._zero and column in ("start", "end") else f'"{column}"'

    def _strings(self) -> Iterator[str]:
        """Only the strings that the kept rows name: the rest are paths and settings of the machine."""
        used = [
            f'SELECT "{column}" FROM copy."{name}"'
            for name in self._wanted
            if name is not None and name not in ("StringIds", *LEFT_OUT)
            for column in self._columns[name]
            if column in TEXT_IDS and column in self._wanted[name].columns
        ]
        self._con.execute(
            "CREATE TABLE copy.StringIds AS SELECT id, cleaned(value) AS value FROM main.StringIds "
            f"WHERE id IN ({' UNION '.join(used) or 'SELECT NULL'})"
        )
        yield f"{self._count('main', 'StringIds') - self._count('copy', 'StringIds')} strings that no kept row names"

    def _count(self, database: str, name: str) -> int:
        return self._con.execute(f'SELECT count(*) FROM {database}."{name}"').fetchone()[0]
