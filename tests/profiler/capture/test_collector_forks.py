"""Forked processes on a faked machine: whoever starts CUDA or makes a mark leaves a file, in whatever order they fork."""

import signal

import pytest

from tests.profiler.capture.recorded import codes, counts, ranges

WORKERS = """
import multiprocessing, nvtx, time
def work(i):
    with nvtx.annotate(f"first/{i}"): pass
    with nvtx.annotate(f"second/{i}"): pass
    time.sleep(WAIT)
if __name__ == "__main__":
    nvtx.push_range("parent"); nvtx.pop_range()
    workers = [multiprocessing.get_context("fork").Process(target=work, args=(i,)) for i in range(8)]
    for w in workers: w.start()
    for w in workers: w.join()
"""
SIZE_LIMIT = """
import nvtx, os, resource, signal
nvtx.push_range("parent")
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
    nvtx.push_range("child"); os._exit(7)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def files(folder) -> int:
    return len(list(folder.glob("*.steprec")))


@pytest.mark.parametrize("generations", [1, 2])
def test_ops_of_a_child_that_starts_cuda_itself_without_marks(machine, tmp_path, imported, generations):
    done = machine.run(tmp_path / "out", FAKE_FORKS=generations, FAKE_MARKS=0)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    store = imported(tmp_path / "out")
    assert counts(store) == {"kernel": 15, "memcpy": 6, "memset": 1}
    assert store.value("SELECT count(*) FROM graph_edge") == 3
    assert codes(store) == ["op_without_call"], "the file is closed in order"
    assert files(tmp_path / "out") == 2, "a process between them that does nothing leaves nothing"


def test_ops_and_marks_of_a_child_that_starts_cuda_itself(machine, tmp_path, imported):
    machine.run(tmp_path / "out", FAKE_FORKS=1, STEPPROF_RANGE=r"^step/\d+$", STEPPROF_STEPS="1:3")
    store = imported(tmp_path / "out")
    assert counts(store)["kernel"] == 9, "the window follows the child's marks"
    assert len(ranges(store)) == 9
    assert files(tmp_path / "out") == 2


def test_a_child_that_starts_cuda_flushes_while_it_runs(machine, tmp_path, imported):
    short = {"STEPPROF_CUPTI_FLUSH_MS": 50, "STEPPROF_FLUSH_MS": 50}
    assert machine.run(tmp_path / "out", FAKE_FORKS=1, FAKE_MARKS=0, FAKE_KILL=1, **short).returncode == 1
    store = imported(tmp_path / "out")
    assert counts(store)["kernel"] == 15
    assert "record_file_cut" in codes(store)


def test_a_child_after_the_start_of_cuda_has_nothing_to_record(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out", FAKE_LATE_FORK=1, FAKE_MARKS=0)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert files(tmp_path / "out") == 1
    assert counts(imported(tmp_path / "out"))["kernel"] == 15


@pytest.mark.parametrize("generations", [0, 1])
def test_a_child_after_the_start_of_cuda_keeps_its_ranges(machine, tmp_path, imported, generations):
    machine.run(tmp_path / "out", FAKE_LATE_FORK=1, FAKE_FORKS=generations)
    store = imported(tmp_path / "out")
    assert counts(store)["kernel"] == 15, "those of its parent, once"
    assert ranges(store)[9:] == ["in a child"]
    assert files(tmp_path / "out") == generations + 2


def test_another_tool_that_holds_cupti_in_a_child_is_told(machine, tmp_path, imported):
    done = machine.run(tmp_path / "out", FAKE_FORKS=1, FAKE_MARKS=0, FAKE_TAKEN=1)
    assert done.stderr.count("\n") == 1 and "holds CUPTI" in done.stderr
    assert "cupti_taken" in codes(imported(tmp_path / "out"))


def test_forked_children_write_their_own_file(machine, tmp_path, imported):
    code = (
        "import nvtx, os, time\nnvtx.push_range('parent')\npid = os.fork()\nif pid == 0:\n"
        "    nvtx.push_range('child'); nvtx.pop_range(); time.sleep(0.5); os._exit(0)\nos.waitpid(pid, 0)\nnvtx.pop_range()"
    )
    assert machine.run_python(tmp_path / "out", code).returncode == 0
    store = imported(tmp_path / "out")
    pairs = store.rows(
        "SELECT text, count(DISTINCT process) FROM range JOIN name USING (name_id) GROUP BY 1 ORDER BY 1"
    )
    assert pairs == [("child", 1), ("parent", 1)]
    assert files(tmp_path / "out") == 2


def test_children_that_record_nothing_leave_nothing(machine, tmp_path):
    code = "import nvtx, os, time\nnvtx.push_range('a')\npid = os.fork()\nif pid == 0: time.sleep(0.5); os._exit(0)\nos.waitpid(pid, 0)"
    assert machine.run_python(tmp_path / "out", code).returncode == 0
    assert files(tmp_path / "out") == 1


def test_workers_that_end_at_once_are_known_and_told(machine, tmp_path, imported):
    done = machine.run_python(tmp_path / "out", WORKERS.replace("WAIT", "0"), STEPPROF_FLUSH_MS=60_000)
    assert (done.returncode, done.stderr) == (0, "")
    store = imported(tmp_path / "out")
    assert {text for text in ranges(store) if "first" in text} == {f"first/{i}" for i in range(8)}
    assert files(tmp_path / "out") == 9
    (cut,) = [warning["count"] for warning in store.warnings() if warning["code"] == "record_file_cut"]
    assert cut == 8


def test_workers_that_live_a_little_lose_nothing(machine, tmp_path, imported):
    machine.run_python(tmp_path / "out", WORKERS.replace("WAIT", "0.5"), STEPPROF_FLUSH_MS=60_000)
    assert sorted(ranges(imported(tmp_path / "out"))) == sorted(
        ["parent", *(f"{which}/{i}" for which in ("first", "second") for i in range(8))]
    )


def test_a_size_limit_ends_the_recording_of_a_child_not_the_child(machine, tmp_path):
    done = machine.run_python(tmp_path / "out", SIZE_LIMIT)
    assert done.returncode == 7, signal.Signals(-done.returncode) if done.returncode < 0 else done.stderr
    assert "the record file cannot be written (File too large)" in done.stderr
