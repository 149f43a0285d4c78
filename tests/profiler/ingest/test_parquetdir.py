"""A parquetdir export gives the same rows as the SQLite export of the same capture, and is cached and refused as one."""

import tarfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras, content_hash, import_run
from stepprof.profiler.store import Store, open_run
from tests.profiler.ingest.commands import Stepprof
from tests.profiler.ingest.parquet_folder import parquet_folder
from tests.profiler.ingest.six_steps import WALL, six_steps
from tests.real_runs import CORPUS, run_of
from tests.trace_builder import NsysExport

TABLES = ("op", "api", "range", "graph_node", "event_record", "event_wait", "device", "process", "clock", "warning")
LARGE = 2**64 - 3


def rows(store: Store, table: str) -> list[tuple[Any, ...]]:
    """All rows in an order of their own: neither the ids of rows and names nor the order of a file matter."""
    columns = [c for (c,) in store.rows("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", table)]
    kept = [c for c in columns if c not in ("op_id", "range_id", "identity")]  # GPUs were made anonymous
    named = [f"(SELECT text FROM name n WHERE n.name_id = t.{c})" if c == "name_id" else f"t.{c}" for c in kept]
    return store.rows(f"SELECT {', '.join(named)} FROM {table} t ORDER BY ALL")


def test_the_real_folder_has_the_rows_of_the_sqlite_export(tmp_path: Path):
    archive = CORPUS and CORPUS / "h200x2_graph_pqtdir.tar.gz"
    if not archive or not archive.is_file():
        pytest.skip("STEPPROF_TRACE_CORPUS names no folder with h200x2_graph_pqtdir.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    import_run(tmp_path / "h200x2_graph_pqtdir", tmp_path / "run.duckdb", Extras())

    store, other = open_run(tmp_path / "run.duckdb"), run_of("h200x2_graph.sqlite")

    for table in TABLES:
        assert rows(store, table) == rows(other, table), table
    assert store.value("SELECT count(*) FROM op") == 18170 + 336
    assert (store.fact("format"), store.fact("tool")) == ("nsys-parquetdir", "nsys")
    store.close()


def odd_export() -> NsysExport:
    """Payloads, texts and ids that the two file formats keep in different ways."""
    export = six_steps()
    export.range("a", 1, 2, doubleValue=2.5, textId=None).range("b", 3, 4, registered=True, uint64Value=LARGE - 2**64)
    export.range("ü", 5, 6, int64Value=-7, jsonText='{"rows": 2}').range("", 7, 8, floatValue=0.5, category=3)
    export.node(1, 5).node(-5, 6, 1).kernel("large id", 9_950, 9_990, correlation=4, graphNodeId=-5)
    export.add("TARGET_INFO_GPU", id=0, name="Big", smCount=132, memoryBandwidth=4_800_000_000_000)
    return export.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)


def test_a_folder_has_the_rows_of_the_sqlite_export(tmp_path: Path):
    sqlite = odd_export().write(tmp_path / "trace.sqlite")
    stores: list[Store] = []
    for source in (sqlite, parquet_folder(sqlite, tmp_path / "trace_pqtdir")):
        import_run(source, tmp_path / f"{source.stem}.duckdb", Extras())
        stores.append(open_run(tmp_path / f"{source.stem}.duckdb"))

    for table in TABLES:
        assert rows(stores[1], table) == rows(stores[0], table), table
    assert len(rows(stores[1], "op")) == 25
    assert stores[1].fact("tool_version") == "2025.3.2"
    for store in stores:
        store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return parquet_folder(six_steps().write(tmp_path / "trace.sqlite"), tmp_path / "x_pqtdir")


def test_a_folder_is_a_trace(folder: Path, stepprof: Stepprof):
    assert stepprof("breakdown", folder, "--json").document["totals"]["wall_ns"] == WALL
    assert len(stepprof("steps", folder, "--json").document["steps"]) == 6
    assert len(list(stepprof.cache.iterdir())) == 1


def test_the_content_of_the_tables_is_the_key(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPPROF_CACHE", str(tmp_path / "cache"))
    first, key = cached_run(folder, Extras()), content_hash(folder)

    (folder / "notes.txt").write_text("no table")
    assert cached_run(folder.rename(tmp_path / "elsewhere"), Extras()) == first
    (tmp_path / "elsewhere" / "StringIds.parquet").rename(tmp_path / "elsewhere" / "Strings.parquet")
    assert content_hash(tmp_path / "elsewhere") != key


def column(folder: Path, table: str, name: str, values: pa.Array) -> None:
    """The table with other values in a column."""
    path = folder / f"{table}.parquet"
    read = pq.read_table(path)
    at = read.schema.get_field_index(name)
    pq.write_table(read.set_column(at, name, values), path)


KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
FOREIGN = {
    "float times": pa.array([0.5] * 24),
    "text times": pa.array(["1"] * 24),
    "NULL times": pa.nulls(24),
    "nested times": pa.array([[1]] * 24),
    "timestamps": pa.array([0] * 24, pa.timestamp("ns")),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_values_of_foreign_types_are_no_times(case: str, folder: Path, stepprof: Stepprof):
    column(folder, KERNEL, "start", FOREIGN[case])

    answer = stepprof("breakdown", folder)

    assert answer.code == 4 and "24 kernel launches but no GPU activity is on record" in answer.err
    (warning,) = stepprof("import", folder, "-o", stepprof.cache / "r.duckdb", "--json").document["warnings"]
    assert (warning["code"], warning["count"]) == ("op_time_missing", 24)


def test_texts_of_odd_types_are_read(folder: Path, stepprof: Stepprof):
    names = [b"gemm_0", b"cut \xc3", b"gemm_2", b"gemm_3", b"cudaLaunchKernel", b"cudaStreamSynchronize"]
    values = pq.read_table(folder / "StringIds.parquet")["value"].to_pylist()
    column(folder, "StringIds", "value", pa.array([names[i % 6] for i in range(len(values))], pa.binary()))
    column(folder, "NVTX_EVENTS", "doubleValue", pa.array([float("nan")] * 6))

    keys = {row["key"] for row in stepprof("breakdown", folder, "--by", "kernel", "--json").document["rows"]}

    assert "cut �" in keys


def test_two_columns_of_one_name(folder: Path, stepprof: Stepprof):
    path = folder / f"{KERNEL}.parquet"
    read = pq.read_table(path)
    pq.write_table(read.append_column("start", pa.array([0] * 24, pa.int64())), path)

    assert stepprof("breakdown", folder, "--json").document["totals"]["wall_ns"] == WALL  # the first is meant


def test_a_broken_table_is_named(folder: Path, stepprof: Stepprof):
    path = folder / f"{KERNEL}.parquet"
    content = path.read_bytes()
    for broken in (b"", b"PAR1", b"noise" * 100, content[:-20], content[:40] + b"\xff" * 200 + content[240:]):
        path.write_bytes(broken)
        answer = stepprof("breakdown", folder)
        assert answer.code == 1
        assert "x_pqtdir" in answer.err and (
            "is not a readable parquet file" in answer.err or "is damaged" in answer.err
        )
        assert answer.err.strip().endswith("again.")


def test_a_broken_table_that_is_not_read_does_no_harm(folder: Path, stepprof: Stepprof):
    (folder / "ENUM_CUDA_MEMCPY_OPER.parquet").write_bytes(b"noise")
    (folder / "PROCESSES.parquet").symlink_to(folder / "PROCESSES.parquet")
    (folder / "TARGET_INFO_GPU.parquet").mkdir()
    assert stepprof("breakdown", folder, "--json").document["totals"]["wall_ns"] == WALL


def test_folders_that_are_no_export(tmp_path: Path, stepprof: Stepprof):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other" / "sales.parquet")

    said = [stepprof("breakdown", tmp_path / name) for name in ("empty", "other", "other/sales.parquet")]

    assert [answer.code for answer in said] == [1, 1, 1]
    way_out = "give the folder of nsys export -t parquetdir."
    assert said[0].err == f"stepprof: {tmp_path}/empty is a folder without parquet files: {way_out}\n"
    assert said[1].err.startswith(f"stepprof: {tmp_path}/other holds no table of an nsys export")
    assert "sales.parquet is one table of a parquetdir export: give the folder it belongs to." in said[2].err
