"""The built-in model as the program of a capture: what is started, what its facts add, and a whole capture on the CPU."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from stepprof.profiler.capture.builtin import Program, program_of
from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.cli import app
from stepprof.profiler.errors import InputError, UsageError

STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
CPU, GPU = Machine(None, 0), Machine(13000, 2)
SHORT = ("--", "--steps", "4", "--k", "1", "--layers", "2")


@pytest.fixture
def cpu(tmp_path):
    """Run stepprof in a folder of its own, where no GPU shows."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path),
           "CUDA_VISIBLE_DEVICES": "", "STEPPROF_CACHE": str(tmp_path / "cache")}  # fmt: skip

    def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*STEPPROF, *words], cwd=tmp_path, env=env | more, capture_output=True, text=True,
                              timeout=120, check=False)  # fmt: skip

    return run


def said(*words: str) -> str:
    """Standard output of a command on the run."""
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_no_program_is_the_built_in_model():
    pytest.importorskip("torch")
    on_cpu, on_gpu = program_of([], CPU), program_of(["--preset", "flash"], GPU)
    assert on_cpu.command[1:] == ["-m", "stepprof.runtime", "run", "--preset", "tiny"]
    assert on_gpu.command[-4:] == ["--preset", "mini", "--preset", "flash"]  # the last one wins
    assert on_cpu.started(Path("f"), "--gpu-times")[-3:] == ["--facts", "f", "--gpu-times"]


def test_a_sidecar_that_never_leaves_its_card_stamps_its_calls(tmp_path):
    facts = tmp_path / "facts.jsonl"
    for words in (["--sidecar-mode", "persistent"], ["--sidecar-mode=persistent"]):
        started = Program(["x", *words], built_in=True).started(facts)
        assert started[-4:] == ["--facts", str(facts), "--resident", str(tmp_path / "resident-facts.jsonl")]
    (tmp_path / "resident-facts.jsonl").write_text("{}\n")
    assert Program(["x"], built_in=True).extras(facts).resident == tmp_path / "resident-facts.jsonl"


def test_a_program_is_started_as_it_is():
    program = program_of([sys.executable, "--facts", "x"], CPU)
    assert program == Program([sys.executable, "--facts", "x"])
    assert program.started(Path("f"), "--gpu-times") == program.command
    assert program.extras(Path("f")).files == []


@pytest.mark.parametrize("word", ["--facts=x", "--profile"])
def test_switches_that_the_capture_gives_are_refused(word):
    pytest.importorskip("torch")
    with pytest.raises(UsageError, match="given to the built-in model by the capture itself"):
        program_of([word], CPU)


def test_without_torch_there_is_no_model(monkeypatch):
    monkeypatch.setattr("stepprof.profiler.capture.builtin.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'stepprof\[runtime\]'"):
        program_of([], CPU)


def test_facts_of_a_killed_model_end_with_their_last_whole_line(tmp_path):
    facts = tmp_path / "facts.jsonl"
    program = Program(["x"], built_in=True)
    assert program.extras(facts).files == []
    facts.write_text('{"step": 0}\n{"step": 1, "ke')
    assert program.extras(facts).facts == facts and facts.read_text() == '{"step": 0}\n'


def test_a_capture_on_the_cpu_ends_in_a_breakdown(cpu, collector, tmp_path):
    pytest.importorskip("torch")
    done = cpu("capture", "-o", "r.duckdb", *SHORT, STEPPROF_COLLECTOR=str(collector))
    assert done.returncode == 0, done.stderr
    assert "backend torch: no GPU is found (" in done.stderr and done.stdout.startswith("prose: 4 steps")
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM step_fact WHERE drafted = 1").fetchone() == (6,)  # warm-up included
        facts = dict(con.execute("FROM manifest").fetchall())
    assert facts["backend"] == "torch" and "stepprof.runtime" in json.loads(facts["command"])
    assert len(json.loads(facts["control_step_ns"])) == 4, "the counted steps, as traced; warm-up left out"

    run = str(tmp_path / "r.duckdb")
    result = json.loads(said("breakdown", run, "--json"))
    totals = result["totals"]
    assert result["steps"] == 4 and totals["exposed_ns"] + totals["gap_ns"] == totals["wall_ns"]
    assert sum(part["exposed_total_ns"] for part in result["rows"] + result["gaps"]) == totals["wall_ns"]
    assert result["labelled_share"] > 0.99 and {"attention", "expert_gemm"} <= {row["key"] for row in result["rows"]}
    low, high = result["tracing_inflation_interval"]
    assert low <= result["tracing_inflation"] <= high
    assert "cpu_stand_in" in [warning["code"] for warning in result["warnings"]]
    for command in ("steps", "breakdown", "roles"):
        assert "No GPU was used: operators of the CPU stand in for GPU ops" in said(command, run)


def test_steps_and_kept_records_of_the_torch_backend(cpu, tmp_path):
    pytest.importorskip("torch")
    words = ("--backend", "torch", "--no-control", "--keep-records", "--steps", "1:3", "-o", "r.duckdb")
    done = cpu("capture", *words, *SHORT)
    assert done.returncode == 0, done.stderr
    steps = json.loads(said("steps", str(tmp_path / "r.duckdb"), "--json"))["steps"]
    assert [(step["label"], step["ops"] > 0) for step in steps] == [
        ("step/2", False), ("step/3", True), ("step/4", True), ("step/5", False)
    ]  # fmt: skip
    assert (tmp_path / "r.duckdb.json").is_file() and not list(tmp_path.glob(".r.duckdb*"))


def test_ctrl_c_keeps_what_torch_has_recorded(tmp_path):
    pytest.importorskip("torch")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path),
           "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip
    words = ["--backend", "torch", "--no-control", "-o", "r.duckdb", *SHORT[:1], "--steps", "100000", *SHORT[3:]]
    running = subprocess.Popen([*STEPPROF, "capture", *words], cwd=tmp_path, env=env, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    late = time.monotonic() + 60
    while not any(path.stat().st_size > 2000 for path in tmp_path.rglob("facts.jsonl")) and time.monotonic() < late:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGINT, output
    steps = json.loads(said("steps", str(tmp_path / "r.duckdb"), "--json"))["steps"]
    assert len(steps) > 5


def test_a_model_that_fails_keeps_its_code(cpu, tmp_path):
    pytest.importorskip("torch")
    done = cpu("capture", "--no-control", "-o", "r.duckdb", "--", "--preset", "none")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "invalid choice: 'none'" in done.stderr
    assert "the program failed with exit code 2; nothing was traced" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("*r.duckdb*"))
