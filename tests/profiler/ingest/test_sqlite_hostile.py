"""Hostile rows in an nsys SQLite export: each is counted and left out, or the question is refused; never an idle GPU.

Single bad values as the ingest keeps them: test_nsys.py. Damaged files: test_sqlite_damage.py.
"""

from pathlib import Path

import pytest

from tests.profiler.ingest.commands import Stepprof
from tests.profiler.ingest.six_steps import EXPOSED, WALL, altered, six_steps
from tests.trace_builder import NsysExport

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
LEAST, MOST = -(2**63), 2**63 - 1
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i + 1 AS end FROM n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return six_steps().write(tmp_path / "trace.sqlite")


# what the account stays the same under, and what is told
HARMLESS = {
    "no string table": ("DROP TABLE StringIds", {"name_missing": 6}),
    "empty string table": ("DELETE FROM StringIds", {"name_missing": 6}),
    "strings without ids": ("ALTER TABLE StringIds DROP COLUMN id", {"name_missing": 6}),
    "strings without text": ("ALTER TABLE StringIds DROP COLUMN value", {}),
    "text as ids": ("UPDATE StringIds SET id = 'x'", {"name_missing": 6}),
    "NULL strings": ("UPDATE StringIds SET value = NULL", {}),
    "numbers as strings": ("UPDATE StringIds SET value = 12345", {}),
    "ids twice": ("INSERT INTO StringIds SELECT id, value || '_other' FROM StringIds", {"string_ambiguous": 6}),
    "strings twice": ("INSERT INTO StringIds SELECT * FROM StringIds", {}),
    "dangling names": (f"UPDATE {KERNEL} SET demangledName = 999, shortName = 999", {"name_missing": 1}),
    "no name columns": (
        f"ALTER TABLE {KERNEL} DROP COLUMN demangledName; ALTER TABLE {KERNEL} DROP COLUMN shortName",
        {},
    ),
    "kernels twice": (f"INSERT INTO {KERNEL} SELECT * FROM {KERNEL}", {"op_duplicate": 24}),
    "calls twice": (f"INSERT INTO {RUNTIME} SELECT * FROM {RUNTIME}", {"api_duplicate": 30}),
    "calls thrice": (f"INSERT INTO {RUNTIME} SELECT a.* FROM {RUNTIME} a, (VALUES (1), (2))", {"api_duplicate": 60}),
    "ranges twice": ("INSERT INTO NVTX_EVENTS SELECT * FROM NVTX_EVENTS", {"range_duplicate": 6}),
    "no streams": (f"UPDATE {KERNEL} SET streamId = NULL, contextId = NULL", {}),
    "dangling nodes": (f"UPDATE {KERNEL} SET graphNodeId = rowid % 4 + 1", {}),
    "a trigger": ("CREATE TRIGGER t BEFORE INSERT ON StringIds BEGIN DELETE FROM StringIds; END", {}),
    "a computed column": (f"ALTER TABLE {KERNEL} ADD COLUMN graphId AS (hex(zeroblob(500000000)))", {}),
    "a virtual table": ("CREATE VIRTUAL TABLE TARGET_INFO_GPU USING fts5(id, name)", {}),
    "a foreign key and an index": (
        f"CREATE TABLE t (x REFERENCES gone (y)); CREATE INDEX i ON {KERNEL} (abs(start)) WHERE start > 20000",
        {},
    ),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_changes_no_account(case: str, trace: Path, stepprof: Stepprof):
    sql, warnings = HARMLESS[case]

    answer = stepprof("breakdown", altered(trace, sql), "--json")

    totals = answer.document["totals"]
    assert totals == {"wall_ns": WALL, "exposed_ns": EXPOSED, "gap_ns": WALL - EXPOSED}
    assert answer.warnings == warnings


ONE_LOST = {"launches_lost": 1, "steps_left_out": 1}
COSTS_A_STEP = {
    "kernel ends never": (f"UPDATE {KERNEL} SET end = {MOST} WHERE rowid = 7", {"op_time_outside": 1} | ONE_LOST),
    "kernel from ever": (f"UPDATE {KERNEL} SET start = {LEAST} WHERE rowid = 7", {"op_time_outside": 1} | ONE_LOST),
    "kernel of NULL": (f"UPDATE {KERNEL} SET start = NULL WHERE rowid = 7", {"op_time_missing": 1} | ONE_LOST),
    "kernel of text": (f"UPDATE {KERNEL} SET end = 'late' WHERE rowid = 7", {"op_time_missing": 1} | ONE_LOST),
    "kernel of float": (f"UPDATE {KERNEL} SET end = 1e300 WHERE rowid = 7", {"op_time_missing": 1} | ONE_LOST),
    "kernel backwards": (f"UPDATE {KERNEL} SET end = start - 1 WHERE rowid = 7", {"op_time_negative": 1} | ONE_LOST),
    "kernel at zero": (f"UPDATE {KERNEL} SET start = 0, end = 0 WHERE rowid = 7", {"op_time_lost": 1} | ONE_LOST),
    "kernel nowhere": (f"UPDATE {KERNEL} SET deviceId = NULL WHERE rowid = 7", {"op_device_missing": 1} | ONE_LOST),
    "range ends never": (f"UPDATE NVTX_EVENTS SET end = {MOST} WHERE rowid = 2", {"range_time_outside": 1}),
    "range from ever": (f"UPDATE NVTX_EVENTS SET start = {LEAST} WHERE rowid = 2", {"range_time_outside": 1}),
    "range of text": ("UPDATE NVTX_EVENTS SET start = 'x' WHERE rowid = 2", {"range_time_bad": 1}),
}


@pytest.mark.parametrize("case", COSTS_A_STEP)
def test_a_bad_row_costs_its_step_only(case: str, trace: Path, stepprof: Stepprof):
    sql, warnings = COSTS_A_STEP[case]

    answer = stepprof("breakdown", altered(trace, sql), "--json")

    assert (answer.document["steps"], answer.document["totals"]["wall_ns"]) == (5, WALL * 5 // 6)
    assert answer.warnings == warnings


@pytest.mark.parametrize("cells", [f"end = {MOST}", f"start = {LEAST}", f"start = {LEAST}, end = {MOST}"])
def test_an_absurd_call_does_not_widen_the_capture(cells: str, trace: Path, stepprof: Stepprof):
    altered(trace, f"UPDATE {RUNTIME} SET {cells} WHERE rowid = 7; UPDATE {KERNEL} SET end = {MOST} WHERE rowid = 24")

    answer = stepprof("breakdown", trace, "--json")

    assert answer.document["steps"] == 5
    assert (
        answer.warnings
        == {"api_time_outside": 1, "op_time_outside": 1, "op_without_call": 1, "outside_steps": 1} | ONE_LOST
    )


NO_KERNEL = "24 kernel launches but no GPU activity is on record (6 ranges and 30 API calls): re-capture with nsys"
NO_STEP = "no steps found"
REFUSED = {
    "no kernel table": (f"DROP TABLE {KERNEL}", NO_KERNEL),
    "empty kernel table": (f"DELETE FROM {KERNEL}", NO_KERNEL),
    "an endless view as kernels": (f"DROP TABLE {KERNEL}; CREATE VIEW {KERNEL} AS {ENDLESS}", NO_KERNEL),
    "kernels without times": (f"ALTER TABLE {KERNEL} DROP COLUMN start", NO_KERNEL),
    "all times lost": (f"UPDATE {KERNEL} SET start = 0, end = 0", NO_KERNEL),
    "all times float": (f"UPDATE {KERNEL} SET start = start + 0.5", NO_KERNEL),
    "all times text": (f"UPDATE {KERNEL} SET start = 'at ' || start", NO_KERNEL),
    "no device": (f"UPDATE {KERNEL} SET deviceId = -5", NO_KERNEL),
    "no call table": (f"DROP TABLE {RUNTIME}", NO_STEP),
    "no ranges": ("DROP TABLE NVTX_EVENTS", NO_STEP),
    "ranges end early": ("UPDATE NVTX_EVENTS SET end = start + 1", "hold no GPU op"),
    "ranges of no thread": ("UPDATE NVTX_EVENTS SET globalTid = NULL", "hold no GPU op"),
    "no correlation in kernels": (f"ALTER TABLE {KERNEL} DROP COLUMN correlationId", "hold no GPU op"),
    "no correlation in calls": (f"ALTER TABLE {RUNTIME} DROP COLUMN correlationId", "hold no GPU op"),
    "NULL correlations": (f"UPDATE {KERNEL} SET correlationId = NULL", "hold no GPU op"),
    "dangling correlations": (f"UPDATE {KERNEL} SET correlationId = correlationId + 5000", "hold no GPU op"),
    "kernels of another process": (f"UPDATE {KERNEL} SET globalPid = globalPid + (1 << 24)", "hold no GPU op"),
    "one correlation for all kernels": (f"UPDATE {KERNEL} SET correlationId = 1", "none of the 6 steps is whole"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_known_is_refused(case: str, trace: Path, stepprof: Stepprof):
    sql, sentence = REFUSED[case]

    answer = stepprof("breakdown", altered(trace, sql), "--json")

    assert (answer.code, sentence in answer.err) == (4, True), answer.err


ODD_STEPS = {
    # sql, steps, wall, warnings
    "ranges overlap": ("UPDATE NVTX_EVENTS SET end = end + 15000", 6, 74_000, {}),
    "ranges are one": ("UPDATE NVTX_EVENTS SET start = 0, end = 60000", 1, 60_000, {}),
    "ranges never end": (
        "UPDATE NVTX_EVENTS SET end = NULL", 1, 50_000, {"range_left_open": 6, "steps_left_out": 1},
    ),
    "one correlation for all calls": (
        f"UPDATE {RUNTIME} SET correlationId = 1", 1, 9_000, {"op_without_call": 23, "steps_left_out": 5, "outside_steps": 3},
    ),
    "kernels without length": (f"UPDATE {KERNEL} SET end = start", 6, WALL, {"op_zero_length": 24}),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD_STEPS)
def test_odd_steps_still_add_up(case: str, trace: Path, stepprof: Stepprof):
    sql, steps, wall, warnings = ODD_STEPS[case]

    answer = stepprof("breakdown", altered(trace, sql), "--json")

    totals = answer.document["totals"]
    assert totals["exposed_ns"] + totals["gap_ns"] == totals["wall_ns"]
    assert (answer.document["steps"], totals["wall_ns"], answer.warnings) == (steps, wall, warnings)


def test_events_that_all_share_one_id_end(tmp_path: Path, stepprof: Stepprof):
    export, place = six_steps(), {"deviceId": 0, "contextId": 1, "streamId": 7, "eventId": 5, "eventSyncId": 0}
    for i in range(20_000):  # as pairs of record and wait these would be 400 million
        where = place | {"correlationId": i % 24 + 1, "globalPid": 1 << 48 | 100 << 24}
        export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **where)
        export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=1, end=2, syncType=2, **where)

    answer = stepprof("breakdown", export.write(tmp_path / "trace.sqlite"), "--json")

    assert answer.document["totals"]["wall_ns"] == WALL


def test_secrets_of_the_environment_stay_in_the_file(tmp_path: Path, stepprof: Stepprof):
    export: NsysExport = six_steps().add("TARGET_INFO_SYSTEM_ENV", name="API_KEY", value="hunter2hunter2")
    export.write(tmp_path / "trace.sqlite")

    printed = [
        stepprof(command, tmp_path / "trace.sqlite", "--json").out for command in ("steps", "breakdown", "roles")
    ]

    assert printed and "hunter2hunter2" not in "".join(printed)
    assert [b"hunter2hunter2" in run.read_bytes() for run in stepprof.cache.iterdir()] == [False]
