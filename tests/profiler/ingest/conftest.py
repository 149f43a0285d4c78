"""`imported`: an NsysExport written, imported and opened. `stepprof`: the command line, called in this process."""

from pathlib import Path

import pytest

from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run
from tests.profiler.ingest.commands import Stepprof
from tests.trace_builder import NsysExport


@pytest.fixture
def imported(tmp_path: Path):
    """Import an export, with extras where given, and open the run."""
    stores: list[Store] = []

    def run(export: NsysExport, **extras: Path) -> Store:
        import_run(export.write(tmp_path / "trace.sqlite"), tmp_path / "run.duckdb", Extras(**extras))
        stores.append(open_run(tmp_path / "run.duckdb"))
        return stores[-1]

    yield run
    for store in stores:
        store.close()


@pytest.fixture
def stepprof(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Stepprof:
    """Call a command on a trace; asserts that it leaves no traceback, change or file behind."""
    return Stepprof(tmp_path_factory.mktemp("stepprof"), monkeypatch, capsys)
