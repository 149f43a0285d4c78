"""Faults of `stepprof capture` are one sentence, and what is doubtful of a run is a warning in it."""

import json
import os
import shlex
import subprocess
import sys

import duckdb
import pytest

from tests.profiler.capture.runs_told import STEPPROF, manifest, one_sentence


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
