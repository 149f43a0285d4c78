"""`imported`: an NsysExport written, imported and opened, as most tests of the ingest need it."""

from pathlib import Path

import pytest

from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run
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
