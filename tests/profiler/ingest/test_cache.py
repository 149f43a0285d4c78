"""A trace is imported once and found again by its content; the cache stays small and never stands in the way."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest import cache
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras
from stepprof.profiler.store import open_run
from tests.trace_builder import NsysExport


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test."""
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STEPPROF_CACHE_BYTES", raising=False)
    return tmp_path / "cache"


def trace(path: Path, end: int = 130) -> Path:
    """One kernel, from 100 to `end`."""
    return NsysExport().api("cudaLaunchKernel", 80, 85).kernel("gemm", 100, end).write(path)


def kernel_end(run: Path) -> int:
    store = open_run(run)
    try:
        return store.value("SELECT end_ns FROM op")
    finally:
        store.close()


def aged(run: Path, seconds: int) -> Path:
    """The run as if last used so long ago."""
    then = time.time() - seconds
    os.utime(run, (then, then))
    return run


def test_a_trace_is_imported_once(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    first = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    monkeypatch.delattr(cache, "import_run")  # a second import would fail

    assert cached_run(tmp_path / "a.sqlite", Extras()) == first
    assert first.parent == folder and os.listdir(folder) == [first.name]
    assert kernel_end(first) == 130


def test_the_same_content_elsewhere_is_the_same_run(tmp_path: Path):
    first = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    (tmp_path / "a.sqlite").rename(tmp_path / "b.sqlite")
    assert cached_run(tmp_path / "b.sqlite", Extras()) == first


def test_other_content_under_the_same_name_is_another_run(tmp_path: Path):
    first = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    (tmp_path / "a.sqlite").unlink()
    second = cached_run(trace(tmp_path / "a.sqlite", end=140), Extras())
    assert (kernel_end(first), kernel_end(second)) == (130, 140)


def test_extras_make_another_run(tmp_path: Path):
    source = trace(tmp_path / "a.sqlite")
    empty, facts = tmp_path / "empty.jsonl", tmp_path / "facts.jsonl"
    empty.write_text("")
    facts.write_text('{"step": 3, "kept": 4}\n')
    variants = [Extras(), Extras(facts=empty), Extras(costs=empty), Extras(facts=facts)]

    runs = [cached_run(source, extras) for extras in variants]

    assert len(set(runs)) == 4
    store = open_run(runs[3])
    assert store.rows("SELECT step, kept FROM step_fact") == [(3, 4)]
    store.close()


def test_another_version_of_the_code_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    monkeypatch.setattr(cache, "_code_version", lambda: "another")
    assert cached_run(tmp_path / "a.sqlite", Extras()) != first


def test_the_version_covers_python_sql_and_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "reader.py").write_text("1")
    (tmp_path / "rows.sql").write_text("1")
    (tmp_path / "schema.sql").write_text("1")
    monkeypatch.setattr(cache, "HERE", tmp_path)
    monkeypatch.setattr(cache, "SCHEMA", tmp_path / "schema.sql")
    versions = [cache._code_version.__wrapped__()]
    for name in ("reader.py", "rows.sql", "schema.sql"):
        (tmp_path / name).write_text("2")
        versions.append(cache._code_version.__wrapped__())

    assert len(set(versions)) == 4


def test_a_damaged_run_is_made_again(tmp_path: Path):
    run = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    run.write_bytes(b"")
    assert kernel_end(cached_run(tmp_path / "a.sqlite", Extras())) == 130


def test_a_run_file_is_returned_as_it_is(tmp_path: Path, folder: Path):
    run = cached_run(trace(tmp_path / "a.sqlite"), Extras()).rename(tmp_path / "mine.duckdb")

    assert cached_run(run, Extras()) == run
    assert os.listdir(folder) == []
    with pytest.raises(
        InputError,
        match=r"mine\.duckdb is a run file: add edges, facts, costs and resident calls to a copy with stepprof import\.",
    ):
        cached_run(run, Extras(facts=tmp_path / "facts.jsonl"))


def test_the_run_longest_unused_goes_first(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    runs = [cached_run(trace(tmp_path / f"{end}.sqlite", end), Extras()) for end in (130, 140, 150)]
    size = max(run.stat().st_size for run in runs)
    for run, age in zip(runs, (30, 20, 10), strict=True):
        aged(run, age)
    cached_run(tmp_path / "130.sqlite", Extras())  # used again: now the newest
    monkeypatch.setenv("STEPPROF_CACHE_BYTES", str(2 * size))

    new = cached_run(trace(tmp_path / "160.sqlite", 160), Extras())

    assert {path.name for path in folder.iterdir()} == {runs[0].name, new.name}


def test_the_run_just_made_stays_whatever_the_bound(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPPROF_CACHE_BYTES", "0")
    first = cached_run(trace(tmp_path / "a.sqlite"), Extras())
    assert os.listdir(folder) == [first.name]

    second = cached_run(trace(tmp_path / "b.sqlite", 140), Extras())
    assert os.listdir(folder) == [second.name]


def test_what_a_killed_import_left_is_removed_after_a_day(tmp_path: Path, folder: Path):
    folder.mkdir()
    for name, age in (
        (".old.duckdb.x.partial", 90000),
        (".old.duckdb.x.partial.wal", 90000),
        (".new.duckdb.y.partial", 60),
    ):
        (folder / name).write_bytes(b"")
        aged(folder / name, age)

    run = cached_run(trace(tmp_path / "a.sqlite"), Extras())

    assert {path.name for path in folder.iterdir()} == {".new.duckdb.y.partial", run.name}


def test_a_bound_that_is_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPPROF_CACHE_BYTES", "2GB")
    with pytest.raises(InputError, match="STEPPROF_CACHE_BYTES is '2GB': give a whole number of bytes"):
        cached_run(trace(tmp_path / "a.sqlite"), Extras())


def test_a_failed_import_leaves_nothing(tmp_path: Path, folder: Path):
    (tmp_path / "x").write_bytes(b"SQLite format 3\0" + bytes(80))
    with pytest.raises(InputError, match="/x is not a readable SQLite export"):
        cached_run(tmp_path / "x", Extras())
    with pytest.raises(InputError, match="absent cannot be read"):
        cached_run(trace(tmp_path / "a.sqlite"), Extras(edges=tmp_path / "absent"))
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("own", "xdg", "expected"),
    [
        ("own", "xdg", "own"),
        (None, "xdg", "xdg/stepprof"),
        (None, None, "home/.cache/stepprof"),
        (None, "relative", "home/.cache/stepprof"),
        ("", "", "home/.cache/stepprof"),
    ],
)
def test_where_the_folder_is(
    own: str | None, xdg: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, value in (("STEPPROF_CACHE", own), ("XDG_CACHE_HOME", xdg)):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value if value in ("", "relative") else str(tmp_path / value))

    run = cached_run(trace(tmp_path / "a.sqlite"), Extras())

    assert run.parent == tmp_path / expected
    assert run.parent.stat().st_mode & 0o077 == 0


SCRIPT = """
import sys
from pathlib import Path
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras
print(cached_run(Path(sys.argv[1]), Extras()))
"""


def started(source: Path) -> subprocess.Popen[str]:
    """Another process that wants the run of a trace and prints its path."""
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(source)], stdout=subprocess.PIPE, text=True)


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path, folder: Path):
    folder.write_text("a file where the folder should be")  # for root no folder is read-only

    run = cached_run(trace(tmp_path / "a.sqlite"), Extras())

    assert kernel_end(run) == 130
    assert folder.read_text() == "a file where the folder should be"
    assert cached_run(tmp_path / "a.sqlite", Extras()) == run


def test_a_run_outside_the_cache_goes_with_its_process(tmp_path: Path, folder: Path):
    folder.write_text("a file where the folder should be")
    run = Path(started(trace(tmp_path / "a.sqlite")).communicate()[0].strip())
    assert run.suffix == ".duckdb" and not run.parent.exists()


def test_two_processes_may_import_one_trace_at_once(tmp_path: Path, folder: Path):
    source = trace(tmp_path / "a.sqlite")

    processes = [started(source), started(source)]
    runs = {process.communicate()[0].strip() for process in processes}

    assert [process.returncode for process in processes] == [0, 0]
    assert len(runs) == 1 and kernel_end(Path(runs.pop())) == 130
    assert len(os.listdir(folder)) == 1
