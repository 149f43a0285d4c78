"""Whatever is done to a trace, reading it ends in an account or in one sentence, and leaves the file as it was.

Some seconds in the gate, always the same examples; `make fuzz` draws new ones for
STEPPROF_FUZZ_SECONDS.
"""

import gzip
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.profiler.demo import EDGES, TRACE
from stepprof.profiler.errors import StepprofError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.report.document import breakdown_document, steps_document
from stepprof.profiler.store import open_run
from tests.profiler.ingest.commands import snapshot
from tests.profiler.ingest.kineto_documents import call, document, event, kernel
from tests.profiler.ingest.mutations import byte_edits, cell_edits, mutated, rich_export, table_columns
from tests.profiler.ingest.parquet_folder import parquet_folder
from tests.profiler.ingest.six_steps import altered
from tests.real_runs import TEST_DATA

FUZZ = "STEPPROF_FUZZ_SECONDS" in os.environ
SECONDS = float(os.environ.get("STEPPROF_FUZZ_SECONDS", "20")) / 4  # for each of the four tests
SLOWEST_S = 60
boxed = settings(
    max_examples=max(20, int(SECONDS * 8)),
    deadline=None,
    derandomize=not FUZZ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def in_time() -> Callable[[], bool]:
    """Whether a test has time left for one more example; its first call starts the clock."""
    ends: dict[str, float] = {}

    def check() -> bool:
        test = os.environ["PYTEST_CURRENT_TEST"]
        return time.monotonic() < ends.setdefault(test, time.monotonic() + SECONDS)

    return check


def read(trace: Path, extras: Extras | None = None) -> None:
    """Import, find the steps, break them down; no fault but a sentence, nothing changed or left."""
    before, started = snapshot(trace.parent), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.duckdb"
        try:
            import_run(trace, run, extras or Extras())
            _ask(run)
        except StepprofError as fault:
            assert str(fault).strip() and "\n" not in str(fault).replace(str(trace), "")
        assert os.listdir(folder) in ([], ["run.duckdb"])
    assert snapshot(trace.parent) == before
    assert time.monotonic() - started < SLOWEST_S


def _ask(run: Path) -> None:
    store = open_run(run)
    try:
        found = attribute(store)
        steps_document(found.steps, found.warnings)
        for by in ("role", "device", "layer"):
            breakdown_document(breakdown(found, by))
    finally:
        store.close()


RICH = rich_export()
KINETO = document(
    *(event("user_annotation", f"ProfilerStep#{i}", 100.0 * i, 90.0) for i in range(4)),
    *(call(i + 1, 100.0 * (i // 6) + i % 6) for i in range(24)),
    *(kernel(100.0 * (i // 6) + 10 + 9 * (i % 6), 8.5, f"k{i % 6}", i + 1) for i in range(24)),
)


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Small real and built traces by file name."""
    table_columns(RICH, path := tmp_path_factory.mktemp("contents") / "rich.sqlite")
    real = [TRACE, *sorted(TEST_DATA.glob("*.sqlite.gz"))]
    return {
        "rich.sqlite": path.read_bytes(),
        "rich.sqlite.gz": gzip.compress(path.read_bytes()),
        "small.json": KINETO.encode(),
        "small.json.gz": gzip.compress(KINETO.encode()),
    } | {file.name: file.read_bytes() for file in real}


@boxed
@given(data=st.data())
def test_bytes_of_a_small_trace(data: st.DataObject, contents: dict[str, bytes], in_time: Callable[[], bool]):
    small = [name for name in contents if name.startswith(("rich", "small"))]
    name, edits = data.draw(st.sampled_from(small)), data.draw(byte_edits())
    if in_time():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(mutated(contents[name], edits))
            read(Path(folder) / name)


@boxed
@given(data=st.data())
def test_bytes_of_a_real_trace(data: st.DataObject, contents: dict[str, bytes], in_time: Callable[[], bool]):
    real = [name for name in contents if not name.startswith(("rich", "small"))]
    name, edits, unpack = data.draw(st.sampled_from(real)), data.draw(byte_edits()), data.draw(st.booleans())
    if in_time():
        content = gzip.decompress(contents[name]) if unpack else contents[name]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(mutated(content, edits))
            read(Path(folder) / name)


@boxed
@given(data=st.data())
def test_cells_of_an_export(data: st.DataObject, contents: dict[str, bytes], in_time: Callable[[], bool]):
    columns = {table: RICH._columns[table] for table in RICH._rows if not table.startswith("META")}
    sql, as_parquet = data.draw(cell_edits(columns)), data.draw(st.integers(0, 4)) == 0
    if in_time():
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "rich.sqlite"
            trace.write_bytes(contents["rich.sqlite"])
            altered(trace, f"BEGIN; {sql}; COMMIT")
            read(_as_parquet(trace) if as_parquet else trace)


def _as_parquet(trace: Path) -> Path:
    """The same in a parquetdir, where its values can be in one."""
    try:
        return parquet_folder(trace, trace.with_name("rich_pqtdir"))
    except (ValueError, TypeError, OverflowError):  # cells of many types in one column
        return trace


@boxed
@given(data=st.data())
def test_bytes_of_a_side_file(data: st.DataObject, contents: dict[str, bytes], in_time: Callable[[], bool]):
    sides = {
        "edges": gzip.decompress(EDGES.read_bytes())[:3000],
        "facts": b'{"step": 3, "kept": 4, "class": "code"}\n{"step": 3, "layer": 7, "rows": 2, "skipped": false}\n' * 9,
        "costs": b'{"label": "k1", "bytes_read": 1, "flops": 5, "source": "counted"}\n' * 9,
    }
    kind, edits = data.draw(st.sampled_from(sorted(sides))), data.draw(byte_edits())
    if in_time():
        with tempfile.TemporaryDirectory() as folder:
            trace, side = Path(folder) / "rich.sqlite", Path(folder) / "side"
            trace.write_bytes(contents["rich.sqlite"])
            side.write_bytes(mutated(sides[kind], edits))
            read(trace, Extras(**{kind: side}))
