"""How fast traces are read and accounted for, and in how much memory, beside floors and peers.

    python benchmarks/ingest.py --size 100k,1m,5m --receipt benchmarks/receipts/ingest.json

Real exports are repeated to the size asked for (tiling.py): the demo capture, with hundreds of ops
a graph launch, and one with a launch for every kernel (h200x2_eager where STEPPROF_TRACE_CORPUS has
it, else the demo's graphs taken apart); the first as Kineto JSON.gz too. What is to be compared runs
in turns, each in a fresh process, and every answer is checked against what is known of the file.
Built files stay in $STEPPROF_BENCH_DIR, else in stepprof-bench in the temporary folder. The last
line printed is one JSON document; ratios in wall time are medians over pairs that ran side by side,
those in CPU time do not suffer from other load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kineto_copy import write_kineto
from measure import Run, figures, task
from peers import measure_peers
from targets import linearity, targets
from tiling import Tiled, Truth, tile

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "profiler" / "demo_data" / "h200x2_overlap.sqlite.gz"
SIZES = {"k": 1_000, "m": 1_000_000}
LARGE = 2_000_000  # kernels; above, one round and no peers
PACKAGES = ("adbc-driver-sqlite", "duckdb", "msgspec", "numpy", "pyarrow")


@dataclass(frozen=True)
class Trace:
    """A built file and the tasks it is measured with."""

    key: str
    path: Path
    truth: Truth
    floors: tuple[str, ...]


def main() -> None:
    """Build, measure, print."""
    asked = _arguments()
    folder = Path(os.environ.get("STEPPROF_BENCH_DIR") or Path(tempfile.gettempdir()) / "stepprof-bench")
    folder.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    results = {size: _measure_size(size, folder, asked) for size in asked.sizes}
    document = {**_circumstances(asked, load), "sizes": results}
    document |= {"linearity": linearity(results), "targets": targets(results)}
    line = json.dumps(document)
    if asked.receipt:
        asked.receipt.parent.mkdir(parents=True, exist_ok=True)
        asked.receipt.write_text(json.dumps(document, indent=1) + "\n")
    print(line)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", default="100k,1m", help="kernels, for example 100k,1m,5m")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--receipt", type=Path, help="where to write the document, indented")
    parser.add_argument("--note", default="", help="what a reader of the figures should know")
    asked = parser.parse_args()
    asked.sizes = {size: int(float(size[:-1]) * SIZES[size[-1].lower()]) for size in asked.size.split(",")}
    return asked


def _circumstances(asked: argparse.Namespace, load: float) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, cwd=ROOT, capture_output=True)
    return {
        "benchmark": "ingest",
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load_average_before": round(load, 1),
        "load_average_after": round(os.getloadavg()[0], 1),
        "note": asked.note,
        "commit": commit.stdout.decode().strip(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "command": "python benchmarks/ingest.py " + " ".join(_shown(sys.argv[1:])),
    }


def _shown(arguments: list[str]) -> list[str]:
    """The arguments without the note, which stands beside them."""
    at = arguments.index("--note") if "--note" in arguments else len(arguments)
    return arguments[:at] + arguments[at + 2 :]


def _measure_size(size: str, folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    kernels = asked.sizes[size]
    rounds = 1 if kernels > LARGE else asked.rounds
    traces = _traces(folder, kernels)
    result = {trace.key: _measure(trace, folder, rounds) for trace in traces}
    if asked.peers and kernels == max((n for n in asked.sizes.values() if n <= LARGE), default=0):
        by_key = {trace.key: trace for trace in traces}
        graph = by_key["graph"]
        result["peers"] = measure_peers(graph.path, by_key["graph_json"].path, graph.truth, folder)
    return result


def _traces(folder: Path, kernels: int) -> list[Trace]:
    """The files of one size, built where they are not there."""
    graph = tile(DEMO, folder, kernels)
    single = _single(folder, kernels)
    copy = write_kineto(graph.path, graph.path.with_suffix(".json.gz"))
    nsys_floors = ("load_floor", "sql_floor")
    return [
        Trace("graph", graph.path, graph.truth, nsys_floors),
        Trace("single", single.path, single.truth, nsys_floors),
        Trace("graph_json", copy, graph.truth, ("json_floor",)),
    ]


def _single(folder: Path, kernels: int) -> Tiled:
    corpus = os.environ.get("STEPPROF_TRACE_CORPUS")
    eager = Path(corpus) / "h200x2_eager.sqlite.gz" if corpus else None
    return tile(eager, folder, kernels) if eager and eager.exists() else tile(DEMO, folder, kernels, single=True)


def _measure(trace: Trace, folder: Path, rounds: int) -> dict[str, Any]:
    """All tasks of a trace in turns; figures by task, ratios to the floors."""
    runs: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for _ in range(rounds):
            for name, paths in _tasks(trace, Path(scratch)).items():
                runs.setdefault(name, []).append(task(name, *paths))
                print(f"{trace.path.name} {name}: {runs[name][-1].wall_s:.2f} s", file=sys.stderr)
    for name, own in runs.items():
        _check(trace, name, own[-1].answer)
    return {
        "file": trace.path.name,
        "file_mb": trace.path.stat().st_size >> 20,
        "truth": asdict(trace.truth) | {"ops_of_step": len(trace.truth.ops_of_step)},
        "tasks": {name: figures(own) for name, own in runs.items()},
        "import_over_floor": _ratio(runs["import"], runs[trace.floors[0]]),
    }


def _tasks(trace: Trace, scratch: Path) -> dict[str, tuple[Path, ...]]:
    run, loaded = scratch / "run.duckdb", scratch / "floor.duckdb"
    floors = {"load_floor": (trace.path, loaded), "sql_floor": (loaded,), "json_floor": (trace.path,)}
    return {name: floors[name] for name in trace.floors} | {"import": (trace.path, run), "account": (run,)}


def _check(trace: Trace, name: str, answer: dict[str, Any]) -> None:
    """Every figure of the answer that the truth knows must be equal to it."""
    truth = asdict(trace.truth)
    every = list(trace.truth.ops_of_step) * (trace.truth.steps // len(trace.truth.ops_of_step))
    for key, value in answer.items():
        expected = every if key == "ops_of_step" else 0 if key == "partition_left_ns" else truth.get(key, value)
        assert value == expected, f"{trace.path.name}, {name}: {key} is {value}, not {expected}"


def _ratio(runs: list[Run], floor: list[Run]) -> dict[str, float]:
    pairs = list(zip(runs, floor, strict=True))
    return {
        "wall": round(statistics.median(run.wall_s / least.wall_s for run, least in pairs), 2),
        "cpu": round(statistics.median(run.cpu_s / least.cpu_s for run, least in pairs), 2),
    }


if __name__ == "__main__":
    main()
