"""A trace file is read and never written to, only what is needed leaves it, and a bad file is one sentence."""

import gzip
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, content_hash, import_run, summary
from stepprof.profiler.store import Store, open_run
from tests.trace_builder import NsysExport

Import = Callable[[NsysExport], Store]  # fixture of conftest.py
SECRET, PATH, USED = "hunter2hunter2", "/home/someone/private/model.safetensors", "a_kernel_in_use"


def launched() -> NsysExport:
    """One kernel, 100 to 130, with its launch."""
    return NsysExport().api("cudaLaunchKernel", 80, 85).kernel(USED, 100, 130)


def kernels(run: Path) -> list[tuple[int, int]]:
    store = open_run(run)
    try:
        return [(start, end) for start, end in store.rows("SELECT start_ns, end_ns FROM op")]
    finally:
        store.close()


def import_fault(trace: Path, out: Path, extras: Extras | None = None) -> str:
    """The sentence of a refused import, which leaves nothing behind."""
    with pytest.raises(InputError) as fault:
        import_run(trace, out, extras or Extras())
    assert "\n" not in str(fault.value)
    assert [name for name in os.listdir(out.parent) if "run" in name] == []
    return str(fault.value)


def test_only_what_is_needed_reaches_the_run(imported: Import):
    export = launched().add("TARGET_INFO_SYSTEM_ENV", name="API_KEY", value=SECRET)
    export.add("META_DATA_EXPORT", name="EXPORT_PARAM_OUTPUT", value=SECRET)
    for i in range(2000):
        export.string(f"{PATH}{i}")

    store = imported(export)

    content = store.path.read_bytes()
    assert USED.encode() in content  # names can be found in the bytes, so what is not found is not there
    assert SECRET.encode() not in content and PATH.encode() not in content
    assert store.rows("SELECT text FROM name ORDER BY 1") == [(USED,), ("cudaLaunchKernel",)]


def test_the_folder_of_a_trace_is_not_stored(tmp_path: Path):
    folder = tmp_path / "customer-name"
    folder.mkdir()
    import_run(launched().write(folder / "trace.sqlite"), tmp_path / "run.duckdb", Extras())

    store = open_run(tmp_path / "run.duckdb")

    assert store.fact("source") == "trace.sqlite"
    assert b"customer-name" not in (tmp_path / "run.duckdb").read_bytes()
    store.close()


def with_pending_changes(folder: Path) -> Path:
    """An export whose last change is still in its -wal file, which an ordinary opening would fold in."""
    made = launched().sql("COMMIT").sql("PRAGMA journal_mode = WAL").write(folder.with_name("made.sqlite"))
    writer = sqlite3.connect(made)
    writer.execute("CREATE TABLE later (x)")
    writer.commit()
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{made}{suffix}", folder / f"trace.sqlite{suffix}")
    writer.close()
    return folder / "trace.sqlite"


def test_the_source_is_left_as_it_was(tmp_path: Path):
    trace = with_pending_changes(tmp_path / "source")
    os.utime(trace, ns=(5, 5))
    before = {path.name: path.read_bytes() for path in trace.parent.iterdir()}

    import_run(trace, tmp_path / "run.duckdb", Extras())

    assert {path.name: path.read_bytes() for path in trace.parent.iterdir()} == before
    assert sorted(before) == ["trace.sqlite", "trace.sqlite-wal"]
    assert trace.stat().st_mtime_ns == 5


@pytest.mark.parametrize(
    "name", ["two words", "100%", "what?mode=rwc", "a#b", "a&b=c", "%41", "läuft-日本", "it's", "-o"]
)
@pytest.mark.parametrize("suffix", [".sqlite", ".sqlite.gz"])
def test_any_file_name_will_do(name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    plain = launched().write(tmp_path / "plain")
    content = plain.read_bytes()
    trace = Path(name + suffix)
    trace.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)

    import_run(trace, Path("run.duckdb"), Extras())

    assert kernels(tmp_path / "run.duckdb") == [(100, 130)]
    assert sorted(os.listdir()) == sorted(["plain", trace.name, "run.duckdb"])


def test_a_view_is_not_read_as_a_table(imported: Import):
    export = NsysExport().api("cudaLaunchKernel", 80, 85).add("ANALYSIS_DETAILS", globalVid=1, duration=7)
    export.sql(
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, duration AS end, 0 AS deviceId FROM ANALYSIS_DETAILS"
    )

    assert summary(imported(export))["counts"]["kernel"] == 0


def test_text_that_is_no_utf8_is_mended(imported: Import):
    export = launched().range("step/0", 0, 50).range("cut", 60, 70)
    export.sql("UPDATE NVTX_EVENTS SET text = CAST(x'737465702fc3' AS TEXT) WHERE text = 'cut'")

    store = imported(export)

    assert store.rows("SELECT text FROM range JOIN name USING (name_id) ORDER BY start_ns") == [
        ("step/0",),
        ("step/�",),
    ]


def test_a_table_and_a_column_may_be_named_after_anything(imported: Import):
    export = launched().sql('CREATE TABLE "a""b\'c; --" ("x""y" INTEGER)')
    export.sql('ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN "x""; DROP" INTEGER')

    assert summary(imported(export))["counts"]["kernel"] == 1


def cut_off(path: Path) -> Path:
    """An export of many pages that ends in the middle."""
    export = launched()
    for i in range(5000):
        export.kernel("gemm", 200 + i, 201 + i)
    content = export.write(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


def overwritten(path: Path) -> Path:
    """An export with noise in its middle."""
    export = launched()
    for i in range(5000):
        export.kernel("gemm", 200 + i, 201 + i)
    content = bytearray(export.write(path).read_bytes())
    content[len(content) // 4 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    return path


def header_only(path: Path) -> Path:
    path.write_bytes(b"SQLite format 3\0" + bytes(80))
    return path


def broken_gzip(path: Path) -> Path:
    path.write_bytes(gzip.compress(launched().write(path.with_name("plain")).read_bytes())[:-100])
    return path


@pytest.mark.parametrize("make", [cut_off, overwritten, header_only, broken_gzip], ids=lambda make: make.__name__)
def test_a_damaged_file_is_one_sentence(make: Callable[[Path], Path], tmp_path: Path):
    said = import_fault(make(tmp_path / "trace.sqlite"), tmp_path / "run.duckdb")

    assert said.startswith(f"{tmp_path}/trace.sqlite is ")
    assert "again" in said


@pytest.mark.parametrize(
    ("column", "value"), [("deviceId", 2**40), ("gridX", 2**40)], ids=["device beyond 32 bits", "grid beyond 32 bits"]
)
def test_a_number_that_fits_nowhere_is_one_sentence(column: str, value: int, tmp_path: Path):
    trace = launched().kernel("odd", 200, 210, **{column: value}).write(tmp_path / "trace.sqlite")
    assert "trace.sqlite is damaged" in import_fault(trace, tmp_path / "run.duckdb")


@pytest.mark.parametrize(
    "content", [b"", b"text", b"\x1f\x8b", gzip.compress(b"text")], ids=["empty", "text", "gz", "text.gz"]
)
def test_what_is_no_trace(content: bytes, tmp_path: Path):
    (tmp_path / "x").write_bytes(content)
    assert import_fault(tmp_path / "x", tmp_path / "run.duckdb").startswith(f"{tmp_path}/x is ")


def test_an_absent_file_and_a_folder(tmp_path: Path):
    assert "absent cannot be read" in import_fault(tmp_path / "absent", tmp_path / "run.duckdb")
    assert "is a folder without parquet files" in import_fault(tmp_path, tmp_path / "run.duckdb")


def test_the_trace_is_never_the_output(tmp_path: Path):
    trace = launched().write(tmp_path / "trace.sqlite")
    before = trace.read_bytes()

    with pytest.raises(InputError, match="is the trace itself"):
        import_run(trace, tmp_path / "." / "trace.sqlite", Extras(), force=True)

    assert trace.read_bytes() == before


def test_a_run_file_is_not_imported(tmp_path: Path):
    import_run(launched().write(tmp_path / "trace.sqlite"), tmp_path / "first.duckdb", Extras())
    assert "is a run file already" in import_fault(tmp_path / "first.duckdb", tmp_path / "run.duckdb")


def test_a_bad_extra_leaves_no_run(tmp_path: Path):
    trace = launched().write(tmp_path / "trace.sqlite")
    said = import_fault(trace, tmp_path / "run.duckdb", Extras(facts=tmp_path / "absent.jsonl"))
    assert "absent.jsonl cannot be read" in said


def test_the_hash_is_of_the_content(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"abc")
    (tmp_path / "c").write_bytes(b"abd")
    assert content_hash(tmp_path / "a") == content_hash(tmp_path / "b") != content_hash(tmp_path / "c")
