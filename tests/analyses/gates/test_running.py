"""Launches in order, within a budget, kept and counted once whatever happens in between."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepprof.analyses.gates.ledger import Ledger, read_ledger
from stepprof.analyses.gates.running import Launcher, Order, run_gate
from stepprof.analyses.gates.state import gate_state
from stepprof.profiler.errors import InputError, Refused, UsageError
from tests.analyses.gates.gates import Gate, document, writes

ALIKE = {"A": [10.0] * 4, "B": [10.0] * 4}


def made(gate: Gate) -> list[tuple[int, str, str]]:
    return [(one.slot.number, one.slot.arm, one.status) for one in gate_state(gate.ledger, "g").made]


def slow(order: Order) -> int:
    time.sleep(0.05)
    return 0


def patient(gate: Gate) -> Launcher:
    """A launcher for when the lock is free again; waits for that at most 20 s."""
    deadline = time.monotonic() + 20
    lock = os.open(gate.folder / "lock", os.O_RDWR)
    while time.monotonic() < deadline:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.05)
    os.close(lock)
    return writes({arm: [document(10.0)] * 4 for arm in ALIKE})


def test_launches_come_in_the_registered_order(tmp_path):
    gate = Gate(tmp_path).register()
    progress = gate.run(**ALIKE)
    assert (progress.done, progress.of, progress.may_look) == (4, 4, True)
    assert made(gate) == [(0, "A", "done"), (1, "B", "done"), (2, "B", "done"), (3, "A", "done")]
    assert sorted(path.name for path in gate.folder.iterdir()) == ["000-A", "001-B", "002-B", "003-A", "lock"]


def test_a_run_ends_where_one_may_look(tmp_path):
    gate = Gate(tmp_path).register(replicates=1)
    assert [gate.run(**ALIKE).done for _ in range(3)] == [4, 8, 8]
    two = Gate(tmp_path / "two").register(looks=2, launches=4)
    assert [two.run(**ALIKE).done for _ in range(3)] == [4, 8, 8]


def test_the_budget_cuts_no_launch(tmp_path):
    """The first launch is begun whatever it takes; another as long would not fit into 40 ms, so none is begun."""
    gate = Gate(tmp_path).register()
    first = gate.launch(slow, budget_s=0.04)
    assert (first.done, first.stopped, first.may_look) == (1, "the budget is used up", False)
    assert gate.launch(slow, budget_s=0.04).done == 1
    assert gate.launch(slow, budget_s=60).done == 4
    assert made(gate) == [(0, "A", "done"), (1, "B", "done"), (2, "B", "done"), (3, "A", "done")]


def test_a_crash_is_kept_and_run_again(tmp_path):
    gate = Gate(tmp_path).register()
    progress = gate.run(A=[10.0, 10.0], B=[139, 10.0, 10.0])
    assert progress.done == 4
    assert made(gate)[:3] == [(0, "A", "done"), (1, "B", "crashed"), (1, "B", "done")]
    assert (gate.folder / "001-B").is_dir() and (gate.folder / "001-B-1").is_dir()


def test_crashes_beyond_the_registered_number_are_refused(tmp_path):
    gate = Gate(tmp_path).register()
    with pytest.raises(Refused, match=r"launch 1 \(arm B\) of g crashed 2 times, 1 re-runs were registered"):
        gate.run(A=[10.0], B=[1, 1])
    with pytest.raises(Refused, match="crashed 2 times"):  # and stays so
        gate.run(A=[10.0], B=[10.0, 10.0])


def test_a_gate_that_allows_no_crash(tmp_path):
    gate = Gate(tmp_path).register(on_crash="refuse")
    with pytest.raises(Refused, match="crashed 1 times, 0 re-runs"):
        gate.run(A=[7], B=[10.0])


def test_killed_between_the_launch_and_its_line(tmp_path, monkeypatch):
    """The folder has its final name but no line: the next run notes it and does not make it again."""
    gate = Gate(tmp_path).register()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", die)
        with pytest.raises(KeyboardInterrupt):
            gate.run(A=[10.0], B=[])
    assert made(gate) == [] and (gate.folder / "000-A").is_dir()
    assert gate.run(A=[10.0], B=[10.0, 10.0]).done == 4  # one launch of A is left to make
    assert [status for _, _, status in made(gate)] == ["done"] * 4


def test_killed_within_a_launch(tmp_path):
    """kill -9 of the run: its launch lives on and is waited for, is kept as cut, and its slot filled anew."""
    gate = Gate(tmp_path).register()
    script = (
        "import subprocess, sys\n"
        "from stepprof.analyses.gates.ledger import read_ledger\n"
        "from stepprof.analyses.gates.running import run_gate\n"
        "from pathlib import Path\n"
        "def launcher(order):\n"
        "    (order.folder / 'output.txt').write_text('half')\n"
        "    program = subprocess.Popen(['sleep', '1.5'], pass_fds=[order.lock])\n"
        "    print('launched', flush=True)\n"
        "    return program.wait()\n"
        "run_gate(read_ledger(Path(sys.argv[1])), 'g', launcher)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script, str(gate.path)], stdout=subprocess.PIPE)
    assert run.stdout is not None and run.stdout.readline() == b"launched\n"
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    run.stdout.close()

    with pytest.raises(Refused, match="a launch of g is still running"):
        gate.run(**ALIKE)
    assert gate.launch(patient(gate)).done == 4
    assert made(gate)[:2] == [(0, "A", "cut"), (0, "A", "done")]
    assert (gate.folder / "000-A.cut" / "output.txt").read_text() == "half"
    assert gate.verdict().cut == 1


def test_a_disk_that_is_full_when_a_launch_ends(tmp_path):
    """Its folder is kept, the slot is filled anew once there is space."""
    gate = Gate(tmp_path).register()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fills(order: Order) -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
        return 0

    try:
        with pytest.raises(InputError, match=r"took no more .*: free space and run the gate again"):
            gate.launch(fills)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert gate.run(**ALIKE).done == 4
    assert made(gate)[0] == (0, "A", "cut")


def test_the_way_of_recording_is_one_for_all(tmp_path):
    seen: list[str] = []
    gate = Gate(tmp_path).register(instrument="traced", replicates=1)
    gate.launch(lambda order: seen.append(order.instrument) or 0, instrument="marks")
    gate.launch(lambda order: seen.append(order.instrument) or 0)
    assert seen == ["marks"] * 8
    with pytest.raises(Refused, match="recorded as 'marks'"):
        gate.launch(lambda order: 0, instrument="traced")


def test_the_hash_of_every_file_is_noted(tmp_path):
    gate = Gate(tmp_path).register()
    gate.run(**ALIKE)
    noted = [row["body"]["files"] for row in gate.lines() if row["kind"] == "launch"]
    assert [sorted(files) for files in noted] == [["output.json", "result.json"]] * 4
    assert all(len(value) == 64 for files in noted for value in files.values())


def test_a_gate_that_is_not_there(tmp_path):
    gate = Gate(tmp_path).register()
    with pytest.raises(UsageError, match=r"there is no gate 'h' in .*: it has g"):
        run_gate(read_ledger(gate.path), "h", slow)
    assert not (gate.path.parent / "h").exists()


def test_a_launcher_gets_its_arm(tmp_path):
    seen: list[tuple[str, list[str], Path]] = []

    def launcher(order: Order) -> int:
        seen.append((order.slot.arm, order.arm.command, order.folder))
        (order.folder / "output.json").write_text(json.dumps(document(1.0)))
        return 0

    Gate(tmp_path).register().launch(launcher)
    assert [(arm, command) for arm, command, _ in seen] == [("A", ["a"]), ("B", ["b"]), ("B", ["b"]), ("A", ["a"])]
    assert len({folder for _, _, folder in seen}) == 4
