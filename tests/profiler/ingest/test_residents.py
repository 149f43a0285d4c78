"""Calls stamped by a resident kernel: each line checked, times moved to the trace's clock, strangers left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepprof.kernels.resident import CallStamp
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.ingest.merge import import_merged
from stepprof.profiler.ingest.residents import load_residents
from stepprof.profiler.store import Store, open_run
from stepprof.runtime.facts import write_resident
from tests.trace_builder import NsysExport, TraceBuilder

EPOCH = 1_700_000_000_000_000_000
CALL = {"resident": True, "round": 1, "layer": 0, "rows": 2, "seen_ns": EPOCH + 20, "answered_ns": EPOCH + 60}
ROWS = (
    "SELECT round, layer, rows, seen_ns, gated_ns, answered_ns, clock_offset_bound_ns FROM resident_call ORDER BY ALL"
)


def run_of(zero: int | None = EPOCH) -> Store:
    """A trace from 10 to 100, whose clock began at `zero`."""
    store = TraceBuilder().kernel("a", 10, 100, call=(12, 13)).store()
    store.con.execute("UPDATE clock SET epoch_ns = ?", [zero])
    return store


def written(folder: Path, *lines: Any) -> Path:
    file = folder / "resident.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return file


def test_what_the_runtime_writes_comes_in_on_the_clock_of_the_trace(tmp_path: Path):
    stamps = [CallStamp(3, 0, 2, 1020, 1040, 1060), CallStamp(3, 1, 1, 1070, None, 1090)]
    file = tmp_path / "resident.jsonl"
    write_resident(file, stamps, EPOCH - 1000, 7)  # the GPU's timer was at 1000 when the trace began
    load_residents(file, store := run_of())
    assert store.rows(ROWS) == [(3, 0, 2, 20, 40, 60, 7), (3, 1, 1, 70, None, 90, 7)]
    assert store.warnings() == []


def test_the_clock_of_a_record_file_is_theirs(tmp_path: Path):
    call = {"resident": True, "round": 1, "layer": 0, "seen_ns": 20, "answered_ns": 60}
    load_residents(written(tmp_path, call), store := run_of(zero=0))
    assert store.rows(ROWS) == [(1, 0, None, 20, None, 60, None)]


def test_calls_outside_of_the_trace_are_left_out_and_counted(tmp_path: Path):
    early, late = CALL | {"round": 2, "seen_ns": EPOCH + 9}, CALL | {"round": 3, "answered_ns": EPOCH + 101}
    load_residents(written(tmp_path, CALL, "", early, late), store := run_of())
    assert [row[0] for row in store.rows(ROWS)] == [1]
    (warning,) = store.warnings()
    assert (warning["code"], warning["count"]) == ("resident_call_outside", 2)


def test_stamps_of_another_run_are_refused(tmp_path: Path):
    far = CALL | {"seen_ns": 5, "answered_ns": 2**63 - 1}
    with pytest.raises(InputError, match=r"holds no call within the time of built\.duckdb \(1 lie outside\): give"):
        load_residents(written(tmp_path, far), run_of(zero=-(2**63) + 1))


def test_a_trace_without_an_epoch_has_no_place_for_them(tmp_path: Path):
    with pytest.raises(InputError, match=r"built\.duckdb does not say what time .*: record it with stepprof capture"):
        load_residents(written(tmp_path, CALL), run_of(zero=None))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Input data was truncated"),
        ('{"step": 3, "drafted": 5}', "unknown field `step`"),
        (CALL | {"resident": False}, "`resident` is false"),
        (CALL | {"resident": 1}, "Expected `bool`"),
        (CALL | {"seen_ns": -1}, "seen_ns"),
        (CALL | {"seen_ns": 2**63}, "seen_ns"),
        (CALL | {"rows": 1.5}, "rows"),
        (CALL | {"layer": 2**31}, "layer"),
        (CALL | {"answered_ns": EPOCH + 19}, "seen, gated and answered do not follow each other"),
        (CALL | {"gated_ns": EPOCH + 61}, "seen, gated and answered do not follow each other"),
        (CALL, "round 1 layer 0 is that of line 1 again"),
    ],
    ids=str,
)
def test_a_bad_line_is_named_and_nothing_is_kept(line: Any, why: str, tmp_path: Path):
    store = run_of()
    with pytest.raises(InputError) as fault:
        load_residents(written(tmp_path, CALL, line), store)
    assert str(fault.value).startswith(f"{tmp_path / 'resident.jsonl'} line 2 is not a ResidentCall (")
    assert why in str(fault.value) and str(fault.value).endswith("): correct the line.")
    assert store.rows(ROWS) == []


def test_files_of_one_run_move_the_calls_along(tmp_path: Path):
    """The first file's clock began at EPOCH, the common zero is 12 ns later, with its first call."""
    for name, zero, pid in (("a", EPOCH, 1), ("b", EPOCH + 50, 2)):
        e = NsysExport().add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=zero)
        e.api("cudaLaunchKernel", 12, 13, pid=pid).kernel("k", 20, 100, pid=pid).write(tmp_path / f"{name}.sqlite")
    import_run(tmp_path / "a.sqlite", tmp_path / "a.duckdb", Extras(resident=written(tmp_path, CALL)))
    import_merged([tmp_path / "a.duckdb", tmp_path / "b.sqlite"], tmp_path / "ab.duckdb", Extras())
    alone, both = open_run(tmp_path / "a.duckdb"), open_run(tmp_path / "ab.duckdb")
    assert alone.rows(ROWS) == [(1, 0, 2, 20, None, 60, None)]
    assert both.rows(ROWS) == [(1, 0, 2, 8, None, 48, None)]
