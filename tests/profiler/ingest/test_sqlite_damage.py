"""Damaged SQLite files: cut, overwritten, with a lying schema; one clear sentence each, at whatever place."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.profiler.ingest.commands import Stepprof
from tests.profiler.ingest.six_steps import WALL, altered, six_steps

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
PAGE = 4096


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export of a few hundred pages."""
    return six_steps(800).write(tmp_path_factory.mktemp("content") / "trace.sqlite").read_bytes()


CUTS = [
    (0, "is empty: give an nsys export"),
    (1, "is not a trace that stepprof reads: give"),
    (15, "is not a trace that stepprof reads: give"),
    (16, "is not a readable SQLite export (file is not a database): run nsys export again."),
    (99, "is cut off (99 of {size:,} bytes): copy or export it again."),
    (PAGE - 1, "is cut off (4,095 of {size:,} bytes): copy or export it again."),
    (PAGE, "is cut off (4,096 of {size:,} bytes): copy or export it again."),
    (0.25, "is cut off ("),
    (0.5, "is cut off ("),
    (0.9, "is cut off ("),
    (-1, "is cut off ("),
]


@pytest.mark.parametrize(("length", "sentence"), CUTS, ids=[str(length) for length, _ in CUTS])
def test_a_file_cut_off(length: float, sentence: str, content: bytes, tmp_path: Path, stepprof: Stepprof):
    end = int(length * len(content)) if isinstance(length, float) else length
    (tmp_path / "trace.sqlite").write_bytes(content[:end])

    answer = stepprof("breakdown", tmp_path / "trace.sqlite")

    assert answer.code == 1
    assert f"trace.sqlite {sentence.format(size=len(content))}" in answer.err


def zeroed(content: bytes, start: int, end: int) -> bytes:
    return content[:start] + bytes(end - start) + content[end:]


def noise(content: bytes, start: int, end: int) -> bytes:
    return content[:start] + b"\xff" * (end - start) + content[end:]


DAMAGES: dict[str, tuple[Callable[[bytes, int, int], bytes], float, float, str]] = {
    "header zeroed": (zeroed, 0, 100, "is not a trace that stepprof reads"),
    "header behind the magic zeroed": (zeroed, 16, 100, "is not a readable SQLite export ("),
    "schema page zeroed": (zeroed, 100, PAGE, "is not a readable SQLite export ("),
    "schema page of noise": (noise, 100, PAGE, "is not a readable SQLite export ("),
    "all tables of noise": (noise, PAGE, 1.0, "trace.sqlite is damaged (database disk image is malformed"),
    "a page of noise in the middle": (noise, 0.5, 0.55, "trace.sqlite is damaged ("),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_file_overwritten(case: str, content: bytes, tmp_path: Path, stepprof: Stepprof):
    damage, start, end, sentence = DAMAGES[case]
    places = [int(p * len(content)) // PAGE * PAGE if isinstance(p, float) else p for p in (start, end)]
    (tmp_path / "trace.sqlite").write_bytes(damage(content, *places))

    answer = stepprof("breakdown", tmp_path / "trace.sqlite")

    assert (answer.code, sentence in answer.err) == (1, True), answer.err


@pytest.mark.parametrize("part", range(8))
def test_a_page_of_noise_anywhere_is_told(part: int, content: bytes, tmp_path: Path, stepprof: Stepprof):
    page = len(content) // PAGE * (part + 1) // 9 * PAGE
    (tmp_path / "trace.sqlite").write_bytes(noise(content, page, page + PAGE))

    answer = stepprof("breakdown", tmp_path / "trace.sqlite", "--json")

    assert answer.code == 1 and "trace.sqlite is damaged (" in answer.err


SCHEMAS = {
    "an endless view that says it is a table": (
        f"UPDATE sqlite_master SET sql = 'CREATE VIEW {KERNEL} AS WITH RECURSIVE n (i) AS "
        f"(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start FROM n' WHERE name = '{KERNEL}'",
        1,
        "malformed database schema",
    ),
    "a root page beyond the end": (
        f"UPDATE sqlite_master SET rootpage = 99999 WHERE name = '{KERNEL}'", 1, "malformed database schema",
    ),
    "the schema as a table": (
        f"UPDATE sqlite_master SET rootpage = 1 WHERE name = '{KERNEL}'", 1, "malformed database schema",
    ),
    "a statement that is none": (
        f"UPDATE sqlite_master SET sql = 'garbage' WHERE name = '{KERNEL}'", 1, "malformed database schema",
    ),
    "two tables on one page": (
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'StringIds') "
        f"WHERE name = '{KERNEL}'",
        4,
        "no GPU activity is on record",
    ),
    "a table in place of a function": ("CREATE TABLE pragma_table_info (x)", 1, "is not a readable SQLite export"),
    "a view in place of a function": (
        "CREATE VIEW pragma_table_info AS SELECT 'start' AS name", 1, "is not a readable SQLite export",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_schema_that_lies(case: str, tmp_path: Path, stepprof: Stepprof):
    sql, code, sentence = SCHEMAS[case]
    altered(six_steps().write(tmp_path / "trace.sqlite"), f"PRAGMA writable_schema = 1; {sql}")

    answer = stepprof("breakdown", tmp_path / "trace.sqlite")

    assert (answer.code, sentence in answer.err) == (code, True), answer.err


def test_a_name_too_large_for_memory(tmp_path: Path, stepprof: Stepprof):
    path = six_steps().write(tmp_path / "trace.sqlite")
    altered(path, "UPDATE StringIds SET value = zeroblob(150000000) WHERE id = 2")

    answer = stepprof("breakdown", path)

    assert answer.code == 1
    assert "trace.sqlite is damaged (" in answer.err


def test_changes_in_a_wal_are_told_and_left(tmp_path: Path, stepprof: Stepprof):
    made = six_steps().write(tmp_path / "made.sqlite")
    writer = sqlite3.connect(made, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(f"DELETE FROM {KERNEL}")
    folder = tmp_path / "source"
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{made}{suffix}", folder / f"trace.sqlite{suffix}")
    writer.close()

    answer = stepprof("breakdown", folder / "trace.sqlite", "--json")

    assert answer.document["totals"]["wall_ns"] == WALL
    assert answer.warnings == {"changes_pending": 1}
    assert "Changes still in trace.sqlite-wal were not read." in answer.out
