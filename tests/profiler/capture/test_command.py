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
READER = """
import nvtx, sys
lines = []
for line in sys.stdin:
    with nvtx.annotate(f"step/{len(lines)}"): lines.append(line.strip())
    if line == "enough\\n": break
print(len(lines), lines[0], lines[-1])
print("read", len(lines), file=sys.stderr)
"""


@pytest.fixture
def capture(machine, tmp_path, monkeypatch):
    """Run `stepprof capture` in a folder of its own."""
    packages = os.pathsep.join(sys.path)

    def run(*words, program=None, stdin=subprocess.DEVNULL, **more):
        env = {
            "LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": packages,
            "STEPPROF_COLLECTOR": str(machine.collector), "STEPPROF_CACHE": str(tmp_path / "cache"),
        } | {name: str(value) for name, value in more.items()}  # fmt: skip
        command = [*STEPPROF, "capture", *map(str, words), "--", *(program or [machine.program])]
        return subprocess.run(
            command, cwd=tmp_path, env=env, stdin=stdin, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def signalled(machine, tmp_path):
    """Start a capture, interrupt it and its program once a line has been said and some time has passed."""

    def run(*words, after: str, program=None, seconds=2.0, number=signal.SIGINT, **more):
        env = {"LD_LIBRARY_PATH": str(machine.folder), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
               "PYTHONPATH": os.pathsep.join(sys.path), "STEPPROF_COLLECTOR": str(machine.collector)}  # fmt: skip
        command = [*STEPPROF, "capture", *words, "-o", "r.duckdb", "--", *(program or [machine.program])]
        running = subprocess.Popen(
            command, cwd=tmp_path, env=env | more, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        said: list[str] = []
        for line in running.stderr or []:
            said.append(line)
            if after in line:
                break
        time.sleep(seconds)
        os.killpg(running.pid, number)
        _, rest = running.communicate(timeout=60)
        return running.returncode, "".join(said) + rest

    return run


def warnings(path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return dict(con.execute("SELECT code, text FROM warning").fetchall())


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
    (("--duration", "inf"), {}, 2, "--duration inf is no time to wait for: give seconds from 0 to 1000000."),
    (("--delay", "nan"), {}, 2, "--delay nan is no time to wait for"),
    (("--delay", "1e12"), {}, 2, "--delay 1e+12 is no time to wait for"),
    (("--arm", os.fsdecode(b"\xff")), {}, 2, r"--arm '\udcff' is not UTF-8: give it in UTF-8."),
    (("-o", os.fsdecode(b"r\xff.duckdb")), {}, 2, r"r\udcff.duckdb' is not UTF-8: give it in UTF-8."),
    (("--range", os.fsdecode(b"\xff")), {}, 2, r"--range '\udcff' is not UTF-8: give it in UTF-8."),
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
    assert "holds CUPTI" in done.stderr and "No GPU op" not in done.stderr


def test_a_program_without_marks_is_recorded_without_a_ratio(capture, tmp_path):
    done = capture("-o", "r.duckdb", FAKE_MARKS=0)
    assert done.returncode == 0, done.stderr
    assert warnings(tmp_path / "r.duckdb")["control_without_steps"] == (
        "The control could not be compared: mark the steps (step/<n>), or give --marker REGEX."
    )


def test_steps_too_few_to_compare_are_told_as_such(capture, tmp_path):
    assert capture("--steps", "2:4", "-o", "r.duckdb", FAKE_STEPS=40).returncode == 0
    assert warnings(tmp_path / "r.duckdb")["control_without_steps"] == (
        "The control could not be compared: fewer than three steps were timed in both runs, so record more of them."
    )


def test_a_window_is_compared_with_the_same_steps_of_the_control(capture, tmp_path):
    """Steps grow from 1 to 6 ms: those of the window are half as long as the middle one of all."""
    done = capture("--steps", "10:20", "-o", "r.duckdb", FAKE_STEPS=50, FAKE_STEP_US=1000, FAKE_GROW=100)
    facts = manifest(tmp_path / "r.duckdb")
    assert 0.8 < float(facts["tracing_inflation"]) < 1.25, done.stderr
    assert len(json.loads(facts["control_step_ns"])) == 10


def test_a_program_without_gpu_ops_is_told_and_gives_no_inflation(capture, tmp_path):
    code = "import nvtx\nfor i in range(9):\n    with nvtx.annotate(f'step/{i}'): pass"
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code])
    assert done.returncode == 0 and "tracing cost unknown" in done.stderr
    assert warnings(tmp_path / "r.duckdb") == {
        "no_ops": "No GPU op is on record: the program used no GPU, or its GPU process was started without our "
        "variables (sudo, env -i, a container)."
    }
    assert "tracing_inflation" not in manifest(tmp_path / "r.duckdb")


@pytest.mark.parametrize("before", [0, 2])
def test_each_run_reads_a_file_from_where_the_first_began(capture, tmp_path, before):
    (tmp_path / "prompts").write_text("".join(f"{n}\n" for n in range(10_000, 10_040)))
    with (tmp_path / "prompts").open("rb") as prompts:
        os.lseek(prompts.fileno(), 6 * before, os.SEEK_SET)
        done = capture("--control", "both", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=prompts)
    assert done.stdout == f"{40 - before} {10_000 + before} 10039\n", done.stderr
    assert done.stderr.splitlines().count(f"read {40 - before}") == 3


def test_each_run_reads_a_pipe_from_its_beginning(capture, tmp_path):
    """More than a pipe holds."""
    lines = subprocess.Popen(["seq", "100001", "200000"], stdout=subprocess.PIPE)
    done = capture("--control", "both", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=lines.stdout)
    assert done.stdout == "100000 100001 200000\n", done.stderr
    assert done.stderr.splitlines().count("read 100000") == 3
    assert not [path.name for path in tmp_path.iterdir() if "records" in path.name]


@pytest.mark.parametrize(("code", "told"), [(READER, "2 a enough\n"), ("import nvtx; nvtx.mark('x')", "")])
def test_a_pipe_without_an_end_holds_up_nobody(capture, code, told):
    read, write = os.pipe()
    os.write(write, b"a\nenough\nmore\n")
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code], stdin=read)
    os.close(read)
    os.close(write)
    assert (done.returncode, done.stdout) == (0, told), done.stderr


def test_a_pipe_is_the_programs_own_without_a_control(capture, tmp_path):
    lines = subprocess.Popen(["seq", "40"], stdout=subprocess.PIPE)
    done = capture("--no-control", "-o", "r.duckdb", program=[sys.executable, "-c", READER], stdin=lines.stdout)
    assert done.stdout == "40 1 40\n", done.stderr


def test_a_program_that_stumbles_over_its_control_is_told_the_way_out(capture, tmp_path):
    code = "import nvtx, os\nwith nvtx.annotate('step/0'): os.mkdir('out')"
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code])
    assert done.returncode == 1
    assert (
        "stepprof: the program failed with exit code 1, though not in the control run: if it stumbles over what that "
        "left behind, --no-control runs it only once"
    ) in done.stderr.splitlines()
    assert "left behind" not in capture("-o", "s.duckdb", program=[sys.executable, "-c", code]).stderr


@pytest.mark.parametrize("name", ["control-before", "facts", "input", "traced"])
def test_a_run_file_may_have_any_name(capture, tmp_path, name):
    done = capture("--control", "both", "--keep-records", "-o", f"{name}.duckdb")
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(tmp_path / f"{name}.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(DISTINCT process) FROM range").fetchone() == (1,)
        assert con.execute("SELECT count(*) FROM op WHERE activity = 'kernel'").fetchone() == (15,)
    assert len(list((tmp_path / f"{name}.duckdb.records").glob("*.steprec"))) == 1


def test_variables_may_hold_any_bytes(capture, tmp_path):
    value = os.fsdecode(b"caf\xe9")
    assert capture("--no-control", "--env-prefix", "ODD_", "-o", "r.duckdb", ODD_NAME=value).returncode == 0
    assert list(json.loads(manifest(tmp_path / "r.duckdb")["environment"])) == ["ODD_NAME"]
