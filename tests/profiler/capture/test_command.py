"""`stepprof capture` as a user meets it, on a faked machine: run file, control, manifest, windows."""

import json
import os
import signal
import subprocess
import sys

import duckdb
import pytest

from tests.profiler.capture.runs_told import STEPPROF, manifest, one_sentence


def test_traced_run_with_control(capture, tmp_path):
    done = capture("-o", "r.duckdb", FAKE_STEPS=40, FAKE_STEP_US=1000, FAKE_SLOW=50)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    facts = manifest(tmp_path / "r.duckdb")
    ratio, low, high = (float(facts[f"tracing_inflation{end}"]) for end in ("", "_low", "_high"))
    assert 1.2 < low <= ratio <= high < 1.7
    assert len(json.loads(facts["control_step_ns"])) == 40
    assert (facts["backend"], facts["window"], facts["exit_code"], facts["step_measure"]) == (
        "cupti",
        "all",
        "0",
        "range",
    )
    assert "tracing makes a step 1." in done.stderr
    shown = subprocess.run([*STEPPROF, "breakdown", "r.duckdb", "--json"], cwd=tmp_path, capture_output=True, text=True,
                           env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(tmp_path)}, check=True)  # fmt: skip
    found = json.loads(shown.stdout)
    assert found["tracing_inflation"] == ratio and found["steps"] == 40 and found["labelled_share"] == 1
    assert not [path.name for path in tmp_path.iterdir() if "records" in path.name]


def test_control_both_runs_the_program_three_times(capture, tmp_path):
    done = capture("--control", "both", "-o", "r.duckdb")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(manifest(tmp_path / "r.duckdb")["control_step_p50_ns"])) == 2
    assert done.stderr.count("control run") == 2


def test_control_may_stand_alone_or_be_left_out(capture, tmp_path):
    assert capture("--control", "-o", "a.duckdb").returncode == 0
    assert "tracing_inflation" in manifest(tmp_path / "a.duckdb")
    done = capture("--no-control", "-o", "b.duckdb")
    assert "tracing_inflation" not in manifest(tmp_path / "b.duckdb")
    assert "tracing cost unknown" in done.stderr


def test_a_cpu_program_with_marks_alone(capture, tmp_path):
    code = "import nvtx\nfor i in range(3):\n    with nvtx.annotate(f'step/{i}'): pass"
    done = capture("--backend", "marks", "-o", "r.duckdb", program=[sys.executable, "-c", code], FAKE_GPUS=0)
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM range").fetchone() == (3,)


def test_the_programs_own_code_is_passed_on(capture, tmp_path):
    done = capture("--no-control", "-o", "r.duckdb", FAKE_EXIT=7)
    assert (done.returncode, done.stdout) == (7, "done\n")
    assert manifest(tmp_path / "r.duckdb")["exit_code"] == "7"
    assert capture("--no-control", "-o", "s.duckdb", program=["false"]).returncode == 1


def test_a_program_that_fails_in_the_control_is_traced_nevertheless(capture, tmp_path):
    done = capture("--control", "both", "-o", "r.duckdb", FAKE_EXIT=5)
    assert (done.returncode, done.stdout) == (5, "done\n")
    assert "the control run is left out: the program failed in it with exit code 5." in done.stderr
    assert manifest(tmp_path / "r.duckdb")["exit_code"] == "5" and done.stderr.count("control run, untraced") == 1
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT text FROM warning WHERE code = 'no_control'").fetchall() == [
            ("There is no control run: the program failed in it with exit code 5.",)
        ]


def test_a_killed_program_leaves_a_run(capture, tmp_path):
    done = capture("--no-control", "-o", "r.duckdb", FAKE_KILL=1, STEPPROF_CUPTI_FLUSH_MS=50)
    assert done.returncode == 128 + signal.SIGKILL
    assert "without closing their record file" in done.stderr
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM op").fetchone() == (22,)


def test_steps_window(capture, tmp_path):
    done = capture("--no-control", "--steps", "2:4", "-o", "r.duckdb")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM op WHERE activity = 'kernel'").fetchone() == (6,)
    assert manifest(tmp_path / "r.duckdb")["window"] == "steps 2:4"


@pytest.mark.parametrize("window", [("--steps", "2:4"), ("--range", "^step/[13]$")])
def test_kept_records_tell_their_window(capture, tmp_path, window):
    done = capture("--no-control", *window, "--keep-records", "-o", "r.duckdb")
    assert done.returncode == 0, done.stderr
    again = [*STEPPROF, "import", "r.duckdb.records", "-o", "again.duckdb"]
    subprocess.run(again, cwd=tmp_path, check=True, capture_output=True)
    rows = []
    for name in ("r", "again"):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb"), read_only=True) as con:
            rows.append([con.execute(f"FROM {table} ORDER BY ALL").fetchall() for table in ("op", "api", "range")])
    assert rows[0] == rows[1] and len(rows[0][0]) >= 6


@pytest.mark.parametrize(("window", "told"), [
    (("--steps", "100:200"), "the window of steps 100:200: the run has 5 steps, so give --steps A:B with A below 5."),
    (("--delay", "60"), "the window (delay 60.0 s): the program ended before it, or launched no GPU op in it."),
])  # fmt: skip
def test_an_empty_window_is_told(capture, tmp_path, window, told):
    done = capture("--no-control", *window, "-o", "r.duckdb")
    assert done.returncode == 1 and told in one_sentence(done)
    assert not (tmp_path / "r.duckdb").exists()


def test_what_an_earlier_capture_kept_stays(capture, tmp_path):
    for words in ((), ("--force",)):
        assert capture("--no-control", "--keep-records", *words, "-o", "r.duckdb").returncode == 0
    assert {path.name for path in tmp_path.glob("r.duckdb.*")} == {"r.duckdb.records", "r.duckdb.records-2"}


def test_range_window(capture, tmp_path):
    done = capture("--no-control", "--range", "^step/[13]$", "-o", "r.duckdb")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM op WHERE activity = 'kernel'").fetchone() == (6,)
