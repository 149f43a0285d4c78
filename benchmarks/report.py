"""How long stepprof report takes, in how much memory, and how large its page is: 1, 100 and 5,000 steps.

    python benchmarks/report.py --steps 1,100,5000 --receipt benchmarks/receipts/report.json

The demo capture (1,378 ops a step over two cards) is repeated to the number of steps asked for (tiling.py) and
imported; the report is written from the run file and, up to 100 steps, from the export too, import included. Each
run is a process of its own, as a user starts it. Built files stay in $STEPPROF_BENCH_DIR, else in stepprof-bench in
the temporary folder. The last line printed is one JSON document with the bars of each size.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ingest import DEMO, ROOT
from measure import Run, figures, measured, task
from tiling import tile

PER_TILE = 8  # steps of the capture
STEPPROF = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
BARS = {100: {"wall_s": 10.0, "rss_mb": 500, "page_mb": 8.0}, 5000: {"wall_s": 60.0, "page_mb": 8.0}}


def main() -> None:
    """Build, measure, print."""
    asked = _arguments()
    folder = Path(os.environ.get("STEPPROF_BENCH_DIR") or Path(tempfile.gettempdir()) / "stepprof-bench")
    folder.mkdir(parents=True, exist_ok=True)
    before = os.getloadavg()[0]
    sizes = {str(steps): _measure(steps, folder, asked.rounds) for steps in asked.steps}
    document = {**_circumstances(asked, before), "sizes": sizes, "bars": _bars(sizes)}
    if asked.receipt:
        asked.receipt.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", default="1,100,5000", help="numbers of steps")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each size; one above 1,000 steps")
    parser.add_argument("--receipt", type=Path, help="where to write the document, indented")
    parser.add_argument("--note", default="", help="what a reader of the figures should know")
    asked = parser.parse_args()
    asked.steps = [int(steps) for steps in asked.steps.split(",")]
    return asked


def _circumstances(asked: argparse.Namespace, before: float) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, cwd=ROOT, capture_output=True)
    command = f"python benchmarks/report.py --steps {','.join(map(str, asked.steps))} --rounds {asked.rounds}"
    return {
        "benchmark": "report",
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load_average": [round(before, 1), round(os.getloadavg()[0], 1)],
        "note": asked.note,
        "commit": commit.stdout.decode().strip(),
        "python": platform.python_version(),
        "command": command,
    }


def _measure(steps: int, folder: Path, rounds: int) -> dict[str, Any]:
    """Reports of the first `steps` steps of a capture that holds as many."""
    tiles = -(-steps // PER_TILE)
    trace = _tiled(folder, tiles)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        run, page = Path(scratch) / "run.duckdb", Path(scratch) / "report.html"
        imported = task("import", trace, run)
        runs = [_report(run, page, steps, Path(scratch)) for _ in range(rounds if steps <= 1000 else 1)]
        found: dict[str, Any] = {
            "file": trace.name,
            "steps": steps,
            "ops": steps * 1378,
            "import_s": round(imported.wall_s, 2),
            "report": figures(runs),
            "page_mb": round(page.stat().st_size / 1e6, 2),
        }
        if steps <= 100:
            found["from_export"] = figures([_report(trace, page, steps, Path(scratch) / "cache")])
    return found


def _tiled(folder: Path, tiles: int) -> Path:
    """The export with that many repetitions of its steps; `tile` counts kernels, so one repetition is measured first."""
    one = tile(DEMO, folder, 1).truth.kernels
    ten = tile(DEMO, folder, 10 * one).truth
    inside = (ten.kernels - one) * PER_TILE // (ten.steps - PER_TILE)
    tiled = tile(DEMO, folder, one + (tiles - 1) * inside)
    assert tiled.truth.steps == tiles * PER_TILE, f"{tiled.truth.steps} steps, not {tiles * PER_TILE}"
    return tiled.path


def _report(trace: Path, page: Path, steps: int, cache: Path) -> Run:
    command = [*STEPPROF, "report", str(trace), "-o", str(page), "--force", "--steps", f"0:{steps}"]
    run = measured(command, {"STEPPROF_CACHE": str(cache)})
    print(f"{trace.name} {steps} steps: {run.wall_s:.2f} s, {run.rss_mb} MB", file=sys.stderr)
    return run


def _bars(sizes: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Every bar with its value; the time of 100 steps is that from the export, import included."""
    found: list[dict[str, Any]] = []
    for steps, bars in BARS.items():
        if (size := sizes.get(str(steps))) is None:
            continue
        values = size.get("from_export", size["report"]) | {"page_mb": size["page_mb"]}
        found += [
            {"bar": f"{name} of {steps} steps", "limit": bar, "value": values[name], "met": values[name] <= bar}
            for name, bar in bars.items()
        ]
    return found


if __name__ == "__main__":
    main()
