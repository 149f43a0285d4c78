"""Signals to `stepprof capture`: in the control, in the traced run, afterwards; and programs that only look stopped."""

import os
import signal
import subprocess
import sys
import time

import duckdb
import pytest

from tests.profiler.capture.runs_told import STEPPROF, manifest

SERVER = """
import nvtx, os, pathlib, signal, sys, time
stop = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: stop.append(number))
runs = pathlib.Path("runs")
run = 1 + (len(runs.read_text()) if runs.exists() else 0)
runs.write_text("x" * run)
print("serving", run, file=sys.stderr, flush=True)
end = time.time() + (20 if run == int(os.environ.get("SERVES", 1)) else 0)
n = 0
while n < 5 or (not stop and time.time() < end):
    with nvtx.annotate(f"step/{n}"): time.sleep(0.003)
    n += 1
"""  # ends well on a signal; of its runs only one waits for it


def test_an_interrupt_in_the_control_is_told(signalled, tmp_path):
    code, said = signalled(after="control run, untraced", FAKE_STEPS="100000")
    assert code == 128 + signal.SIGINT, said
    assert "stopped in the control run, so nothing was traced: --no-control records at once" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_ends_well_on_a_signal_in_the_control_is_not_traced(signalled, tmp_path, number):
    code, said = signalled(after="serving", program=[sys.executable, "-c", SERVER], seconds=0.3, number=number)
    assert code == 128 + number, said
    assert "stopped in the control run, so nothing was traced" in said and "recording with" not in said
    assert not (tmp_path / "r.duckdb").exists()


@pytest.mark.parametrize("own", [129, 130, 143])
def test_a_program_that_returns_the_code_of_a_signal_was_not_stopped(capture, tmp_path, own):
    done = capture("-o", "r.duckdb", FAKE_EXIT=own)
    assert (done.returncode, done.stdout) == (own, "done\n")
    assert f"the control run is left out: the program failed in it with exit code {own}." in done.stderr
    assert manifest(tmp_path / "r.duckdb")["exit_code"] == str(own)


def test_a_signal_in_the_traced_run_makes_no_control_after_it(signalled, tmp_path):
    code, said = signalled(
        "--control", "both", after="serving 2", program=[sys.executable, "-c", SERVER], seconds=0.3, SERVES="2"
    )
    assert (code, said.count("control run, untraced")) == (0, 1), said
    assert manifest(tmp_path / "r.duckdb")["exit_code"] == "0"


def test_a_signal_in_the_control_afterwards_leaves_the_run(signalled, tmp_path):
    code, said = signalled(
        "--control", "both", after="serving 3", program=[sys.executable, "-c", SERVER], seconds=0.3, SERVES="3"
    )
    assert code == 128 + signal.SIGINT, said
    assert "stopped in the control run afterwards, which is left out" in said
    assert manifest(tmp_path / "r.duckdb")["exit_code"] == "0"


def test_interrupt_stops_and_keeps(machine, tmp_path):
    env = {"LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FAKE_STEPS": "100000",
           "PYTHONPATH": os.pathsep.join(sys.path), "STEPPROF_COLLECTOR": str(machine.collector),
           "STEPPROF_CUPTI_FLUSH_MS": "50"}  # fmt: skip
    command = [*STEPPROF, "capture", "--no-control", "-o", "r.duckdb", "--", machine.program]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=env, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    for line in running.stderr or []:
        if "recording with cupti" in line:
            break
    time.sleep(3)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT, said
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) > 100 FROM op").fetchone() == (True,)
