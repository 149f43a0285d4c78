"""A run file appears whole or not at all, and only a run file of this version opens."""

import os
import resource
import tempfile
from pathlib import Path

import duckdb
import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.store import SCHEMA_VERSION, create, open_run


def test_rows_come_back_out(tmp_path: Path):
    with create(tmp_path / "run.duckdb") as store:
        store.con.execute("INSERT INTO name VALUES (1, 'gemm'), (2, 'norm')")
        store.warn("lost", 3, "3 rows are lost.")
        store.warn("none", 0, "0 rows are lost.")

    store = open_run(tmp_path / "run.duckdb")

    assert store.rows("SELECT text FROM name WHERE name_id = ?", 2) == [("norm",)]
    assert store.value("SELECT name_id FROM name WHERE text = ?", "absent") is None
    assert store.arrays("SELECT name_id FROM name ORDER BY 1")["name_id"].tolist() == [1, 2]
    assert store.frame("SELECT text FROM name ORDER BY name_id")["text"].tolist() == ["gemm", "norm"]
    assert store.fact("schema_version") == str(SCHEMA_VERSION)
    assert store.warnings() == [{"code": "lost", "count": 3, "text": "3 rows are lost."}]
    store.close()


@pytest.mark.parametrize(
    "path", ["run.duckdb", "two words.duckdb", "100%.duckdb", "a?b#c.duckdb", "läuft.duckdb", ":memory:"]
)
def test_any_file_name_will_do(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with create(Path(path)) as store:
        store.con.execute("INSERT INTO name VALUES (1, 'gemm')")

    store = open_run(Path(path))

    assert store.value("SELECT text FROM name") == "gemm"
    assert os.listdir(tmp_path) == [path]
    store.close()


def test_a_run_opens_read_only_but_takes_temporary_tables(tmp_path: Path):
    with create(tmp_path / "run.duckdb"):
        pass
    before = (tmp_path / "run.duckdb").read_bytes()

    store = open_run(tmp_path / "run.duckdb")

    store.con.execute("CREATE TEMP TABLE _mine AS SELECT 1 AS one")
    with pytest.raises(duckdb.InvalidInputException, match="read-only"):
        store.con.execute("INSERT INTO name VALUES (1, 'gemm')")
    store.close()
    assert (tmp_path / "run.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    "fault", [ValueError("mine"), KeyboardInterrupt(), InputError("bad input")], ids=lambda f: type(f).__name__
)
def test_a_fault_inside_the_block_leaves_nothing(fault: BaseException, tmp_path: Path):
    with pytest.raises(type(fault)), create(tmp_path / "run.duckdb") as store:
        store.con.execute("INSERT INTO name SELECT i, 'x' FROM range(100000) t (i)")
        assert os.listdir(tmp_path) != []
        raise fault

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", [2_000, 100_000], ids=["at once", "at a commit"])
def test_a_full_disk(size: int, tmp_path: Path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        said = r"run\.duckdb cannot be written \(File too large\): free space or choose another -o\."
        with pytest.raises(InputError, match=said), create(tmp_path / "run.duckdb") as store:
            store.con.execute("INSERT INTO name SELECT i, 'name ' || hash(i) FROM range(20000) t (i)")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert os.listdir(tmp_path) == []


def test_a_fault_under_force_keeps_the_old_run(tmp_path: Path):
    (tmp_path / "run.duckdb").write_text("old")

    with pytest.raises(ValueError, match="mine"), create(tmp_path / "run.duckdb", force=True):
        raise ValueError("mine")

    assert (tmp_path / "run.duckdb").read_text() == "old"
    assert os.listdir(tmp_path) == ["run.duckdb"]


def test_an_existing_file_is_kept_without_force(tmp_path: Path):
    (tmp_path / "run.duckdb").write_text("old")

    with pytest.raises(InputError, match=r"run\.duckdb exists already: choose another -o or pass --force\."):
        create(tmp_path / "run.duckdb").__enter__()

    assert (tmp_path / "run.duckdb").read_text() == "old"


def test_force_replaces_an_existing_file(tmp_path: Path):
    (tmp_path / "run.duckdb").write_text("old")

    with create(tmp_path / "run.duckdb", force=True):
        pass

    store = open_run(tmp_path / "run.duckdb")
    assert store.fact("schema_version") == str(SCHEMA_VERSION)
    store.close()


def test_force_does_not_replace_a_folder(tmp_path: Path):
    (tmp_path / "folder").mkdir()

    fault = pytest.raises(InputError, match=r"folder cannot be written .*: choose another -o\.")
    with fault, create(tmp_path / "folder", force=True):
        pass

    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []


@pytest.mark.parametrize("parent", ["absent", "file"])
def test_a_place_that_is_no_folder(parent: str, tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(InputError, match=rf"{parent}/run\.duckdb cannot be written \(No.*\): choose another -o\."):
        create(tmp_path / parent / "run.duckdb").__enter__()


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(**_: object):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)  # root may write anywhere, so chmod proves nothing

    with pytest.raises(InputError, match=r"run\.duckdb cannot be written \(Permission denied\)"):
        create(tmp_path / "run.duckdb").__enter__()

    assert os.listdir(tmp_path) == []


def stored_version(path: Path, version: str) -> Path:
    """A run file that says it has this version."""
    with create(path) as store:
        store.con.execute("UPDATE run SET value = ? WHERE key = 'schema_version'", [version])
    return path


@pytest.mark.parametrize(
    ("version", "shown", "way_out"),
    [
        (str(SCHEMA_VERSION + 1), SCHEMA_VERSION + 1, "update stepprof"),
        (str(SCHEMA_VERSION - 1), SCHEMA_VERSION - 1, "import the trace again"),
        ("soon", None, "import the trace again"),
    ],
    ids=["newer", "older", "unreadable"],
)
def test_another_version_names_the_way_out(version: str, shown: int | None, way_out: str, tmp_path: Path):
    said = rf"run\.duckdb has run-file version {shown}, this stepprof reads {SCHEMA_VERSION}: {way_out}\."
    with pytest.raises(InputError, match=said):
        open_run(stored_version(tmp_path / "run.duckdb", version))


@pytest.mark.parametrize(
    "content", [None, b"", b"plain text", b"SQLite format 3\0" + bytes(4096)], ids=["absent", "empty", "text", "sqlite"]
)
def test_what_is_no_run_file(content: bytes | None, tmp_path: Path):
    if content is not None:
        (tmp_path / "x").write_bytes(content)

    with pytest.raises(InputError, match=r"/x (is not a readable run file|has run-file version None)") as fault:
        open_run(tmp_path / "x")

    assert "\n" not in str(fault.value)


def test_another_duckdb_file_is_no_run_file(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "other.duckdb")) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS one")

    with pytest.raises(InputError, match=r"other\.duckdb has run-file version None"):
        open_run(tmp_path / "other.duckdb")
