"""`stepprof capture` as a user meets it, on a faked machine: run file, control, manifest, sentences, exit codes."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import duckdb
import pytest

STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]


@pytest.fixture
def capture(machine, tmp_path, monkeypatch):
    """Run `stepprof capture` in a folder of its own."""
    packages = os.pathsep.join(sys.path)

    def run(*words, program=None, **more):
        env = {
            "LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": packages,
            "STEPPROF_COLLECTOR": str(machine.collector), "STEPPROF_CACHE": str(tmp_path / "cache"),
        } | {name: str(value) for name, value in more.items()}  # fmt: skip
        command = [*STEPPROF, "capture", *map(str, words), "--", *(program or [machine.program])]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    return run


def manifest(path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return dict(con.execute("FROM manifest").fetchall())


def one_sentence(done) -> str:
    """The last line of standard error, which must be the only one that tells a fault."""
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("stepprof: ")]
    assert lines and lines[-1].endswith("."), done.stderr
    return lines[-1]


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


def test_an_interrupt_in_the_control_is_told(machine, tmp_path):
    env = {"LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FAKE_STEPS": "100000",
           "PYTHONPATH": os.pathsep.join(sys.path), "STEPPROF_COLLECTOR": str(machine.collector)}  # fmt: skip
    command = [*STEPPROF, "capture", "-o", "r.duckdb", "--", machine.program]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(3)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT, said
    assert "stopped in the control run, so nothing was traced: --no-control records at once" in said


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


@pytest.mark.parametrize(("words", "more", "code", "sentence"), [
    ((), {"program": ["no-such-program"]}, 1, "no-such-program is not found"),
    ((), {"program": ["/etc/passwd"]}, 1, "is not executable"),
    (("-o", "/proc/r.duckdb"), {}, 1, "cannot be written"),
    (("-o", "/nowhere/r.duckdb"), {}, 1, "cannot be written (No such file or directory)"),
    (("-o", "."), {}, 2, ". is a folder"),
    ((), {"STEPPROF_COLLECTOR": "", "CXX": "/bin/false"}, 1, "cannot build the collector"),
    (("--backend", "torch"), {}, 2, "torch.profiler must be started inside a program"),
    ((), {"FAKE_GPUS": 0}, 1, "no GPU is found (the driver shows no GPU to this process)"),
    ((), {"LD_LIBRARY_PATH": "/nowhere"}, 1, "no GPU is found (no NVIDIA driver is installed)"),
    ((), {"FAKE_DRIVER": 11080}, 1, "the NVIDIA driver is too old (CUDA 11.8)"),
    (("--backend", "nsys"), {}, 1, "nsys is not found"),
    ((), {"STEPPROF_COLLECTOR": "/nowhere.so"}, 1, "STEPPROF_COLLECTOR names /nowhere.so"),
    (("--backend", "marks"), {"program": ["true"]}, 1, "true used no NVTX ranges, so nothing was recorded"),
    (("--backend", "marks", "--steps", "1:5"), {}, 2, "--backend marks records every range: leave the window out"),
    (("--steps", "5:5"), {}, 2, "--steps 5:5 is not A:B"),
    (("--steps", "1:5", "--range", "x"), {}, 2, "exclude each other"),
    (("--range", "("), {}, 2, "is not a regular expression"),
    (("--range", "(?<=step/)1"), {}, 2, "'(?<=step/)1' is not a regular expression (invalid perl operator: (?<)"),
    (("--range", "(?i)STEP"), {}, 2, "'(?i)STEP' holds '(?', which not every reader of it takes alike"),
    (("--steps", "0:2", "--marker", r"\Astep"), {}, 2, "holds '\\\\A', which not every reader"),
    ((), {"STEPPROF_COLLECTOR": "", "CXX": "no-such-g++"}, 1, "CXX names no-such-g++, which is not found"),
])  # fmt: skip
def test_faults_are_one_sentence(capture, tmp_path, words, more, code, sentence):
    done = capture("--no-control", *words, **more)
    assert done.returncode == code
    assert sentence in one_sentence(done)
    assert not (tmp_path / "run.duckdb").exists()


def test_an_existing_run_is_not_replaced(capture, tmp_path):
    (tmp_path / "r.duckdb").write_text("mine")
    assert "exists already" in one_sentence(capture("-o", "r.duckdb"))
    assert (tmp_path / "r.duckdb").read_text() == "mine"


def test_missing_compiler(capture):
    done = capture("--no-control", STEPPROF_COLLECTOR="", PATH="/nowhere", program=["/usr/bin/true"])
    assert done.returncode == 1
    assert "no C++ compiler is found" in one_sentence(done)


def test_missing_cupti(capture, machine, tmp_path):
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver/libcuda.so.1").symlink_to(machine.folder / "libcuda.so.1")
    code = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
    done = capture("--no-control", program=[sys.executable, "-c", code], LD_LIBRARY_PATH=tmp_path / "driver",
                   STEPPROF_CUPTI="/nowhere/libcupti.so")  # fmt: skip
    if "libcupti is not found" not in done.stderr:
        pytest.skip("the system's own libcupti is found")
    assert done.returncode == 1
    assert "libcupti is not found" in one_sentence(done)


def test_a_full_disk_is_told(capture, machine, tmp_path):
    limited = ["bash", "-c", f"ulimit -f 8; exec {machine.program}"]
    done = capture("--no-control", "-o", "r.duckdb", program=limited, FAKE_STEPS=2000)
    assert (done.returncode, done.stdout) == (1, "done\n")
    assert "took no more records (File too large)" in one_sentence(done)
    assert not (tmp_path / "r.duckdb").exists()
    assert (tmp_path / "r.duckdb.records").is_dir()


def test_a_run_file_that_does_not_fit_is_told_and_the_records_stay(capture, machine, tmp_path):
    shell = f"ulimit -f 300; exec {shlex.join([*STEPPROF, 'capture', '--no-control', '-o', 'r.duckdb', '--'])} {machine.program}"
    env = {"LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
           "PYTHONPATH": os.pathsep.join(sys.path), "STEPPROF_COLLECTOR": str(machine.collector)}  # fmt: skip
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "done\n")
    assert one_sentence(done).endswith("r.duckdb cannot be written (File too large): free space or choose another -o.")
    assert [path.name for path in tmp_path.iterdir() if "duckdb" in path.name] == ["r.duckdb.records"]


def test_a_cache_folder_that_takes_nothing_is_done_without(capture, tmp_path):
    done = capture("--no-control", "-o", "r.duckdb", STEPPROF_CACHE="/proc/nowhere")
    assert done.returncode == 0, done.stderr


def test_another_tool_holding_cupti_is_told(capture):
    done = capture("--no-control", "-o", "r.duckdb", FAKE_TAKEN=1)
    assert done.returncode == 0
    assert "holds CUPTI" in done.stderr


def test_a_program_without_marks_is_recorded_without_a_ratio(capture, tmp_path):
    code = "import ctypes; ctypes.CDLL('libcupti.so.13'); ctypes.CDLL('libcuda.so.1').cuInit(0)"
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    assert "The control could not be compared" in done.stderr
