"""The collector on a real GPU: a CUDA graph replayed step by step, captured with one command (make gpu)."""

import json
import os
import signal
import subprocess
import sys

import duckdb
import pytest

pytestmark = pytest.mark.gpu
STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
STEPS = 40
PROGRAM = f"""
import os, signal, time, torch
push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
def marked(name, call):
    push(name); result = call(); pop(); return result
x, w = torch.randn(64, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda")
def step(y):
    for layer in range(8):
        y = marked(f"layer/{{layer}}/dense_gemm", lambda: y @ w)
        y = marked(f"layer/{{layer}}/norm", lambda: torch.nn.functional.layer_norm(y, (1024,)))
    return y
step(x); torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): out = step(x)
for i in range({STEPS}):
    push(f"step/{{i}}"); graph.replay(); torch.cuda.synchronize(); pop()
if os.environ.get("DIE"): time.sleep(3); os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def captured(tmp_path):
    """Capture the program; its exit code, and the run file opened."""
    pytest.importorskip("torch")

    def run(*words, **more):
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more
        command = [*STEPPROF, "capture", "-o", "r.duckdb", *words, "--", sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert (tmp_path / "r.duckdb").exists(), done.stderr
        return done.returncode, duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True)

    return run


def value(con, sql):
    return con.execute(sql).fetchone()[0]


def test_steps_labels_edges_and_nothing_lost(captured, tmp_path):
    code, con = captured("--control", "both")
    assert code == 0
    per_launch = con.execute(
        "SELECT DISTINCT count(*) FROM op WHERE graph_node IS NOT NULL GROUP BY correlation"
    ).fetchall()
    assert len(per_launch) == 1, "every replay has the same ops"
    assert value(con, "SELECT count(DISTINCT correlation) FROM op WHERE graph_node IS NOT NULL") == STEPS
    assert value(con, "SELECT count(*) FROM graph_edge") >= per_launch[0][0] - 1
    assert value(con, "SELECT count(*) FROM op WHERE graph_node IS NOT NULL AND origin_node = graph_node") == 0
    assert value(con, "SELECT value FROM manifest WHERE key = 'dropped_records'") == "0"
    assert float(value(con, "SELECT value FROM manifest WHERE key = 'tracing_inflation'")) > 0.9
    assert value(con, "SELECT count(*) FROM warning WHERE code LIKE 'clock%' OR code LIKE 'cupti%'") == 0
    con.close()
    shown = subprocess.run([*STEPPROF, "breakdown", "r.duckdb", "--json"], cwd=tmp_path, capture_output=True, text=True,
                           env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, check=True)  # fmt: skip
    found = json.loads(shown.stdout)
    assert (found["steps"], found["labelled_share"]) == (STEPS, 1)
    assert {row["key"] for row in found["rows"]} >= {"dense_gemm", "norm"}


def test_kill_keeps_what_was_flushed(captured):
    code, con = captured("--no-control", DIE="1")
    assert code == 128 + signal.SIGKILL
    assert value(con, "SELECT count(DISTINCT correlation) FROM op WHERE graph_node IS NOT NULL") == STEPS


def test_steps_window(captured):
    code, con = captured("--no-control", "--steps", "10:20")
    assert code == 0
    replays = value(con, "SELECT count(DISTINCT correlation) FROM op WHERE graph_node IS NOT NULL")
    launches = "SELECT count(DISTINCT correlation) FROM op SEMI JOIN api USING (process, correlation) WHERE graph_node IS NOT NULL"
    assert value(con, launches) == replays, "each has its call"
    calls = "SELECT count(*) FROM api JOIN name USING (name_id) WHERE text LIKE 'cudaGraphLaunch%'"
    assert value(con, calls) == replays == 10
    spans = "SELECT max(e - s) / min(e - s) FROM (SELECT min(start_ns) s, max(end_ns) e FROM op WHERE graph_node IS NOT NULL GROUP BY correlation)"
    assert value(con, spans) < 3, "no launch has the end of another"


def test_the_built_in_model_splits_the_inflation(tmp_path):
    pytest.importorskip("torch")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*STEPPROF, "capture", "-o", "r.duckdb", "--", "--preset", "tiny", "--steps", "20"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "backend cupti: a GPU and CUPTI are here" in done.stderr, done.stderr
    con = duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True)
    facts = {key: float(number) for key, number in con.execute("FROM manifest WHERE key LIKE '%inflation%'").fetchall()}
    assert facts["tracing_inflation"] == pytest.approx(1 + facts["inflation_span"] + facts["inflation_prologue"])
    assert value(con, "SELECT count(*) FROM step_fact") == 22  # warm-up included
    assert value(con, "SELECT count(gpu_ns) FROM step_fact") == 0  # only the control is timed by events
