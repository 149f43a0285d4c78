"""The report benchmark: real reports of as many steps as asked for, and bars that can be missed."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT


def test_a_small_run_prints_its_figures(tmp_path: Path):
    command = [sys.executable, "benchmarks/report.py", "--steps", "1", "--rounds", "1"]
    env = {**os.environ, "STEPPROF_BENCH_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    size = found["sizes"]["1"]
    assert (size["steps"], size["ops"], found["bars"]) == (1, 1378, [])
    assert 1 < size["page_mb"] < 8 and size["report"]["wall_s"] > 0


def test_a_bar_can_be_missed():
    bars = runpy.run_path(str(ROOT / "benchmarks/report.py"))["_bars"]
    figures = {"wall_s": 10.0, "rss_mb": 501}
    found = bars(
        {
            "100": {"from_export": figures, "report": {}, "page_mb": 8.1},
            "5000": {"report": {"wall_s": 61.0}, "page_mb": 5.0},
        }
    )
    assert [(bar["bar"], bar["value"], bar["met"]) for bar in found] == [
        ("wall_s of 100 steps", 10.0, True),
        ("rss_mb of 100 steps", 501, False),
        ("page_mb of 100 steps", 8.1, False),
        ("wall_s of 5000 steps", 61.0, False),
        ("page_mb of 5000 steps", 5.0, True),
    ]
