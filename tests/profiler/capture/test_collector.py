"""What the collector records on a faked machine, and what survives damage: no GPU needed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from stepprof.profiler.ingest.record_rows import HEADER
from tests.profiler.capture.recorded import codes, counts, ranges

PYTHON_MARKS = """
import nvtx, threading
@nvtx.annotate("inner", domain="mine", category="c")
def inner(): pass
for i in range(3):
    with nvtx.annotate(f"step/{i}", payload=i): inner()
threading.Thread(target=inner).start()
number = nvtx.start_range("spans")
nvtx.end_range(number)
nvtx.push_range("never closed")
"""


def test_every_kind_of_record_arrives(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    store = imported(tmp_path / "out")
    assert counts(store) == {"kernel": 15, "memcpy": 6, "memset": 1}
    assert codes(store) == ["op_without_call"]
    assert store.rows("SELECT device, name, sm_count, memory_bandwidth FROM device ORDER BY 1") == [
        (0, "Fake GPU", 10, 4_000_000_000), (1, "Fake GPU", 11, 4_000_000_000),
    ]  # fmt: skip
    assert store.rows("SELECT from_node, to_node, kind, source FROM graph_edge ORDER BY 1") == [
        (101, 102, "full", "recorded"), (102, 103, "programmatic", "recorded"), (103, 104, "full", "recorded"),
    ]  # fmt: skip
    assert store.rows("SELECT context, stream, event, sync_id FROM event_wait") == [(1, 7, 3, 9)]
    assert store.rows("SELECT context, stream, event, sync_id FROM event_record") == [(1, 8, 3, 9)]
    assert store.rows("SELECT node, origin FROM graph_node WHERE origin IS NOT NULL ORDER BY 1") == [
        (201, 101), (202, 102), (203, 103), (204, 104),
    ]  # fmt: skip
    assert store.fact("tool_version") == "CUPTI 13.0.1"
    manifest = dict(store.rows("SELECT key, value FROM manifest"))
    assert (manifest["dropped_records"], manifest["cupti_overhead_ns"], manifest["processes"]) == ("0", "2000", "1")


def test_fields_of_ops(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_STEPS=1)
    store = imported(tmp_path / "out")
    kernel = store.rows("""
        SELECT text, device, context, stream, end_ns - start_ns, graph_id, graph_node, origin_node,
            grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared_bytes
        FROM op JOIN name USING (name_id) WHERE activity = 'kernel' ORDER BY start_ns""")
    shape = (4, 2, 1, 128, 1, 1, 32, 128)
    assert kernel == [
        ("void attention<4>(float*, int)", 0, 1, 7, 10_000, 5, 201, 101, *shape),
        ("router(float*)", 0, 1, 7, 10_000, 5, 202, 102, *shape),
        ("gemm_plain", 1, 2, 7, 10_000, 5, 204, 104, *shape),
    ]
    assert store.rows("SELECT text, bytes, copy_kind, src_device, dst_device FROM op JOIN name USING (name_id) "
                      "WHERE activity <> 'kernel' ORDER BY text") == [
        ("[CUDA memcpy Host-to-Device]", 128, 1, None, None), ("[CUDA memcpy Peer-to-Peer]", 4096, 10, 0, 1),
        ("[CUDA memset]", 64, None, None, None),
    ]  # fmt: skip


def test_an_older_cupti_has_no_sync_ids(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_CUPTI=18)
    assert imported(tmp_path / "out").rows("SELECT sync_id FROM event_wait") == [(None,)]


def test_marks_mode_records_ranges_and_touches_no_cupti(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out", mode="marks", FAKE_TAKEN=1)
    assert (done.returncode, done.stderr) == (0, "")
    store = imported(tmp_path / "out")
    assert counts(store) == {}
    assert ranges(store)[4:] == [f"step/{i}" for i in range(5)]


def test_python_nvtx(machine, tmp_path, imported):
    done = machine.run_python(tmp_path / "out", PYTHON_MARKS)
    assert (done.returncode, done.stderr) == (0, "")
    store = imported(tmp_path / "out")
    assert sorted(ranges(store)) == sorted(
        ["step/0", "step/1", "step/2", "inner", "inner", "inner", "inner", "spans", "never closed"]
    )
    assert store.rows("SELECT DISTINCT domain FROM range JOIN name USING (name_id) WHERE text = 'inner'") == [("mine",)]
    assert store.rows("SELECT payload, nested FROM range JOIN name USING (name_id) WHERE text LIKE 'step/%' ORDER BY 1") == [
        ("0", True), ("1", True), ("2", True),
    ]  # fmt: skip
    assert store.rows("SELECT nested FROM range JOIN name USING (name_id) WHERE text = 'spans'") == [(False,)]
    assert store.value("SELECT count(DISTINCT thread) FROM range") == 2
    assert "range_left_open" in codes(store)


def test_another_tool_holds_cupti(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out", FAKE_TAKEN=1)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1 and "another tool" in done.stderr and "holds CUPTI" in done.stderr
    store = imported(tmp_path / "out")
    assert "cupti_taken" in codes(store)
    assert "step/0" in ranges(store)


def test_losses_are_counted(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_DROPPED=7)
    store = imported(tmp_path / "out")
    assert "records_dropped" in codes(store)
    assert store.value("SELECT value FROM manifest WHERE key = 'dropped_records'") == "7"


def test_kill_leaves_everything_up_to_the_last_flush(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out", FAKE_KILL=1, STEPPROF_CUPTI_FLUSH_MS=50, STEPPROF_FLUSH_MS=50)
    assert done.returncode == -signal.SIGKILL
    store = imported(tmp_path / "out")
    assert counts(store)["kernel"] == 15
    assert "record_file_cut" in codes(store)


def test_cut_anywhere_imports(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_STEPS=2)
    (file,) = (tmp_path / "out").iterdir()
    data = file.read_bytes()
    short = tmp_path / "short"
    short.mkdir()
    for size in range(HEADER.itemsize, len(data), max(1, len(data) // 12)):
        (short / "1.steprec").write_bytes(data[:size])
        imported(short)


def test_processes_are_merged(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_STEPS=1)
    machine.run(tmp_path / "out", FAKE_STEPS=2)
    store = imported(tmp_path / "out")
    assert store.value("SELECT count(*) FROM process") == 2
    assert counts(store)["kernel"] == 9
    assert store.value("SELECT count(*) FROM device") == 2
    assert store.value("SELECT count(*) FROM graph_edge") == 6
    ends = store.rows("SELECT process, count(DISTINCT from_node) FROM graph_edge GROUP BY 1")
    assert [count for _, count in ends] == [3, 3]
    assert store.value("SELECT count(DISTINCT origin_node) FROM op WHERE graph_node IS NOT NULL") == 8, "none is shared"
    own = "SELECT count(*) FROM op ANTI JOIN graph_edge e ON e.process = op.process AND origin_node IN (from_node, to_node)"
    assert store.value(f"{own} WHERE graph_node IS NOT NULL") == 0


def test_a_cleared_environment_changes_nothing(machine, tmp_path):
    code = "import nvtx, os, time\nnvtx.push_range('a')\nos.environ.clear()\ntime.sleep(0.5)"
    assert machine.run_python(tmp_path / "out", code).returncode == 0
    assert len(list((tmp_path / "out").iterdir())) == 1


CLOSES_ALL = """
import nvtx, os, time
def ours():
    links = {n: os.path.realpath(f"/proc/self/fd/{n}") for n in map(int, os.listdir("/proc/self/fd"))}
    return [n for n, path in links.items() if path.endswith(".steprec")]
def wait():
    late = time.monotonic() + 5
    while not ours():
        if time.monotonic() > late: os._exit(9)
        time.sleep(0.01)
nvtx.push_range("before"); nvtx.pop_range()
wait()
(taken,) = ours()
os.closerange(FIRST, 1000)
null = [os.open("/dev/null", os.O_RDWR) for _ in range(FIRST, 3)]
mine = os.open(VICTIM, os.O_RDWR | os.O_CREAT)
os.dup2(mine, taken)
nvtx.push_range("after"); nvtx.pop_range()
wait()
os.write(taken, b"mine")
"""
LATE_STANDARD = """
os.closerange(0, 1000)
nvtx.push_range("alone"); nvtx.pop_range()
wait()
os._exit(3 if min(ours()) < 3 else 0)
"""
LATE_FORK = """
os.closerange(3, 1000)
os.dup2(os.open(VICTIM, os.O_RDWR), taken)
if (child := os.fork()) == 0:
    nvtx.push_range("in a child"); nvtx.pop_range()
    os._exit(os.write(taken, b"yours") - 5)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("first", [0, 3])
def test_a_program_that_closes_all_files_keeps_its_own_and_its_record(machine, tmp_path, imported, first):
    victim = tmp_path / "victim.bin"
    code = CLOSES_ALL.replace("FIRST", str(first)).replace("VICTIM", repr(str(victim)))
    assert machine.run_python(tmp_path / "out", code, STEPPROF_FLUSH_MS=20).returncode == 0
    assert victim.read_bytes() == b"mine"
    assert ranges(imported(tmp_path / "out")) == ["before", "after"]


def test_the_record_file_never_becomes_a_standard_one(machine, tmp_path):
    code = CLOSES_ALL.replace("FIRST", "3").replace("VICTIM", repr(str(tmp_path / "victim.bin"))) + LATE_STANDARD
    assert machine.run_python(tmp_path / "out", code, STEPPROF_FLUSH_MS=20).returncode == 0


def test_a_fork_closes_no_file_of_the_program(machine, tmp_path, imported):
    victim = tmp_path / "victim.bin"
    code = (CLOSES_ALL + LATE_FORK).replace("FIRST", "3").replace("VICTIM", repr(str(victim)))
    assert machine.run_python(tmp_path / "out", code, STEPPROF_FLUSH_MS=20).returncode == 0
    assert victim.read_bytes() == b"yours"
    assert sorted(ranges(imported(tmp_path / "out"))) == ["after", "before", "in a child"]


def test_a_program_replaced_by_exec_keeps_both_files(machine, tmp_path):
    (tmp_path / "out").mkdir()
    env = machine.environment(tmp_path / "out", "marks") | {"PYTHONPATH": os.pathsep.join(sys.path)}
    code = f"import nvtx, os, time; nvtx.push_range('a'); time.sleep(0.5); os.execv({machine.program!r}, ['program'])"
    subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, timeout=60)
    assert len(list((tmp_path / "out").iterdir())) == 2


@pytest.mark.parametrize(("window", "kernels"), [
    ({"STEPPROF_RANGE": r"^step/\d+$", "STEPPROF_STEPS": "1:3"}, 9),
    ({"STEPPROF_RANGE": r"^step/2$"}, 9),
    ({"STEPPROF_RANGE": r"(", "STEPPROF_STEPS": "1:3"}, 15),
    ({"STEPPROF_DELAY_MS": 60_000}, 0),
])  # fmt: skip
def test_windows_keep_what_labels_need(machine, tmp_path, imported, window, kernels):
    machine.run(tmp_path / "out", **window)
    store = imported(tmp_path / "out")
    assert counts(store).get("kernel", 0) == kernels
    assert len(ranges(store)) == 9
    assert store.value("SELECT count(*) FROM graph_edge") == 3


def test_a_full_disk_ends_recording_not_the_program(machine, tmp_path):
    (tmp_path / "out").mkdir()
    env = machine.environment(tmp_path / "out", FAKE_STEPS=2000, FAKE_STEP_US=300)
    limited = ["bash", "-c", f"ulimit -f 8; exec {machine.program}"]
    done = subprocess.run(limited, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "the record file cannot be written" in done.stderr
    assert [path.name.split(".", 1)[1] for path in (tmp_path / "out").iterdir() if "failed" in path.name] == [
        "failed.27"
    ]


def test_marks_cost_little(machine, tmp_path):
    code = (
        "import nvtx, time\nname = 'a range'\nnvtx.push_range(name); nvtx.pop_range()\nstart = time.perf_counter()\n"
        "for _ in range(100_000): nvtx.push_range(name); nvtx.pop_range()\nprint((time.perf_counter() - start) / 100_000)"
    )
    start = time.perf_counter()
    done = machine.run_python(tmp_path / "out", code)
    assert float(done.stdout) < 50e-6, (done.stdout, time.perf_counter() - start)
