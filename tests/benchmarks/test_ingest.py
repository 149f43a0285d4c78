"""benchmarks/ingest.py on small files: it checks every answer against the truth itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT


def test_small_run_prints_one_document(tmp_path: Path):
    script = str(ROOT / "benchmarks" / "ingest.py")
    arguments = ["--size", "30k", "--rounds", "1", "--no-peers", "--receipt", str(tmp_path / "receipt.json")]
    # without the corpus, so that the demo's graphs are taken apart
    env = {key: value for key, value in os.environ.items() if key != "STEPPROF_TRACE_CORPUS"}
    done = subprocess.run(
        [sys.executable, script, *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**env, "STEPPROF_BENCH_DIR": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document == json.loads((tmp_path / "receipt.json").read_text())
    traces = document["sizes"]["30k"]
    # 8 steps of 1,378 ops, twice
    assert {key: (trace["truth"]["steps"], trace["truth"]["step_ops"]) for key, trace in traces.items()} == {
        key: (16, 22_048) for key in ("graph", "single", "graph_json")
    }
    assert {task for trace in traces.values() for task in trace["tasks"]} == {
        "load_floor", "sql_floor", "json_floor", "import", "account",
    }  # fmt: skip
