"""What a refusal offers where a marker matches no range: names with numbers folded, the nearest first."""

from stepprof.analyses.range_names import offered
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import open_run
from tests.trace_builder import NsysExport


def store_of(tmp_path, *names: str):
    export = NsysExport().kernel("a", 20, 30).api("cudaLaunchKernel", 5, 8)
    for i, name in enumerate(names):
        export.range(name, 100 * i, 100 * i + 50)
    export.write(tmp_path / "a.sqlite")
    import_run(tmp_path / "a.sqlite", tmp_path / "a.duckdb", Extras())
    return open_run(tmp_path / "a.duckdb")


def test_numbers_are_folded_and_the_rarest_come_first(tmp_path):
    store = store_of(tmp_path, "layer/0", "layer/1", "layer/2", "turn 1", "turn 2", "load")
    assert offered(store) == "the trace has load, turn *, layer/*"


def test_the_nearest_name_is_offered(tmp_path):
    store = store_of(tmp_path, "turn 1", "load")
    assert offered(store, r"^trun \d+$") == "did you mean turn *? The trace has load, turn *"
    assert offered(store, "zzz") == "the trace has load, turn *"


def test_many_names_are_counted_and_long_ones_cut(tmp_path):
    store = store_of(tmp_path, *(f"{letter}{letter * 60}" for letter in "abcdefgh"))
    said = offered(store)
    assert said.endswith(" and 2 more")
    assert f"the trace has {'a' * 39}…, " in said


def test_a_trace_without_ranges_says_so(tmp_path):
    assert offered(store_of(tmp_path)) == "the trace has no ranges"
