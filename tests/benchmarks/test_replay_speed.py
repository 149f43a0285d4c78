"""The replay benchmark: its graph is what it says, and it ends with one JSON document."""

import json
import subprocess
import sys

from tests.repository import ROOT


def test_a_small_run_prints_its_figures():
    command = [
        sys.executable,
        "benchmarks/replay.py",
        "--ops",
        "78",
        "--steps",
        "10",
        "--proposals",
        "3",
        "--limit-s",
        "5",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    # 3 layers of 20 + 3 + 3 ops: 19 + 2 + 2 edges along the chains, 4 to and from the branches; 2 between layers
    assert (found["edges"], found["proposals"]) == (3 * 27 + 2, 3)
    assert found["replay_s"] > 0
