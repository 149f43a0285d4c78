"""A scrubbed nsys export keeps what stepprof reads, with processes and threads numbered anew."""

import sqlite3

import pytest

from stepprof.profiler.demo import TRACE
from stepprof.profiler.ingest.importer import Extras, import_run, summary
from stepprof.profiler.scrub import scrub
from stepprof.profiler.scrub_ids import global_ids, numbered
from stepprof.profiler.store import open_run
from tests.trace_builder import NsysExport, global_id


def read(path, out):
    import_run(path, out, Extras())
    store = open_run(out)
    found = summary(store), store.rows("SELECT text, count(*) FROM op JOIN name USING (name_id) GROUP BY 1 ORDER BY 1")
    store.close()
    return {**found[0], "run": ""}, found[1]


@pytest.fixture
def export(tmp_path):
    """Two processes, 4711 with threads 4711 and 4715, and 99; settings of the machine around them."""
    built = NsysExport()
    for pid, tid in ((4711, 4715), (99, 99)):
        built.api("cudaLaunchKernel_v7000", 100, 110, pid=pid, tid=tid).kernel("gemm", 120, 150, pid=pid)
        built.range("step/0", 90, 160, pid=pid, tid=tid, end_tid=4711)
        built.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=pid)
    built.range("/home/secret-user/x.py on secret-host", 95, 96, pid=4711, tid=4711)
    built.range("of secret-user", 97, 98, pid=4711, tid=4711, registered=True)
    built.string("secret-path")
    built.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="secret-host")
    built.add("TARGET_INFO_GPU", id=0, name="NVIDIA H200", busLocation="0000:1b:00.0", smCount=132)
    built.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_795_992_601_000_000_000)
    built.sql("CREATE TABLE SETTINGS_OF_THE_MACHINE AS SELECT 'secret-host' AS value")
    return built.write(tmp_path / "in.sqlite")


def test_ids_keep_their_layout_and_joins(export, tmp_path):
    removed = scrub(export, tmp_path / "out.sqlite")
    with sqlite3.connect(tmp_path / "out.sqlite") as con:
        calls = con.execute("SELECT DISTINCT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY 1").fetchall()
        kernels = con.execute("SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1").fetchall()
        ends = con.execute("SELECT DISTINCT endGlobalTid FROM NVTX_EVENTS WHERE endGlobalTid > 0 ORDER BY 1").fetchall()
        devices = con.execute("SELECT pid FROM TARGET_INFO_CUDA_DEVICE ORDER BY 1").fetchall()
    assert calls == [(global_id(1, 1),), (global_id(2, 3),)]  # 99/99 and 4711/4715
    assert kernels == [(global_id(1),), (global_id(2),)]
    assert ends == [(global_id(1, 2),), (global_id(2, 2),)]
    assert devices == [(1,), (2,)]
    assert "process and thread ids (numbered anew)" in removed
    assert read(export, tmp_path / "a.duckdb")[1] == read(tmp_path / "out.sqlite", tmp_path / "b.duckdb")[1]


def test_settings_of_the_machine_are_left_out(export, tmp_path):
    removed = scrub(export, tmp_path / "out.sqlite")
    content = (tmp_path / "out.sqlite").read_bytes()
    assert b"secret" in export.read_bytes() and b"secret" not in content and b"1b:00" not in content
    assert (1_795_992_601_000_000_000).to_bytes(8, "big") in export.read_bytes()
    assert (1_795_992_601_000_000_000).to_bytes(8, "big") not in content
    assert b"<path>/x.py on <name>" in content and b"of <name>" in content
    assert "table SETTINGS_OF_THE_MACHINE (1 rows)" in removed


def test_times_that_were_normalised_count_from_the_first(tmp_path):
    zero = 1_795_992_601_000_000_000
    built = NsysExport().api("cudaLaunchKernel", zero + 5, zero + 9).kernel("k", zero + 20, zero + 30)
    scrub(built.write(tmp_path / "in.sqlite"), tmp_path / "out.sqlite")
    with sqlite3.connect(tmp_path / "out.sqlite") as con:
        assert con.execute('SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchall() == [(15, 25)]


@pytest.mark.parametrize("used", [True, False])
def test_a_text_that_is_no_utf8(used, tmp_path, stepprof):
    """Where no kept row names it, it does not matter; else one sentence."""
    built = NsysExport().kernel("gemm", 120, 150)
    built.string("other")
    built.sql(f"UPDATE StringIds SET value = CAST(X'ff41' AS TEXT) WHERE value = '{'gemm' if used else 'other'}'")
    built.write(tmp_path / "in.sqlite")
    done = stepprof("scrub", "in.sqlite", "-o", "out.sqlite")
    assert (done.returncode, done.stderr.count("\n")) == (int(used), int(used)), done.stderr
    assert (tmp_path / "out.sqlite").exists() != used


def test_a_real_capture_reads_as_before(tmp_path):
    removed = scrub(TRACE, tmp_path / "out.sqlite")
    assert read(tmp_path / "out.sqlite", tmp_path / "a.duckdb")[1] == read(TRACE, tmp_path / "b.duckdb")[1]
    assert any(line.endswith("strings that no kept row names") for line in removed)
    with sqlite3.connect(tmp_path / "out.sqlite") as con:
        columns = [row[1] for row in con.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
        assert con.execute("SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall() == [(global_id(1),)]
    assert "uuid" not in columns and "busLocation" not in columns


def test_numbers():
    assert numbered([4711, 99, 0, -1, -7]) == {0: 0, -1: -1, -7: 1, 99: 2, 4711: 3}
    high = -144_115_188_075_855_872  # a machine number that fills the sign bit
    given = [high, global_id(4711, 4712), global_id(4711)]
    assert global_ids(given, {0: 0, 4711: 1}) == {
        high: 2 << 48, global_id(4711, 4712): 1 << 48 | 1 << 24 | 1, global_id(4711): 1 << 48 | 1 << 24,
    }  # fmt: skip
