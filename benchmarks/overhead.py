"""What recording costs: workloads untraced, with marks alone, and under each tool, in a round robin.

    python benchmarks/overhead.py --workloads chains,mini --seconds 480 --receipt benchmarks/receipts/overhead.json

A launch is a process of its own; its figure is the median step by the workload's own clocks. Inflation is the ratio of
launches to untraced launches with a 95 % t interval. A launch is not started where it would likely end after
--seconds. A mode that does not work here keeps its sentence. One GPU is enough; a second one is used where it is there.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from overhead_figures import Cell, fits, order, row
from overhead_modes import MODES, Launched, launch, traced_parts

FOLDER = Path(__file__).with_name("workloads")
LAUNCH_LIMIT_S = 300
WORKLOADS: dict[str, list[str]] = {
    "chains": ["chains.py", "--steps", "20"],
    "mini": ["model.py", "--preset", "mini"],
    "flash": ["model.py", "--preset", "flash", "--steps", "20"],
    "hf_decode": ["hf_decode.py"],
    "tiny": ["model.py", "--preset", "tiny"],
}
DEFAULT = ("chains", "mini", "flash", "hf_decode")


@dataclass
class Session:
    """All cells so far, by workload, part and mode."""

    cells: defaultdict[tuple[str, str, str], Cell] = field(default_factory=lambda: defaultdict(Cell))
    taken: defaultdict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list[float]))
    faults: defaultdict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list[str]))

    def add(self, workload: str, mode: str, launched: Launched, folder: Path) -> None:
        """Keep a launch; its trace is read only where that mode has none yet."""
        if launched.fault:
            self.faults[workload, mode].append(launched.fault)
            return
        for part in launched.parts:
            self.cells[workload, part["name"], mode].add(part)
        mine = [self.cells[workload, part["name"], mode] for part in launched.parts]
        if launched.trace is None or all(cell.traced for cell in mine):
            return
        figures = traced_parts(launched, folder)
        if isinstance(figures, str):
            self.faults[workload, mode].append(figures)
            return
        for part, cell in zip(launched.parts, mine, strict=True):
            cell.traced = figures.get(part["name"])

    def rows(self) -> list[dict[str, Any]]:
        """One row a part and mode; modes that never worked have one for the workload."""
        names = {(workload, part) for workload, part, _ in self.cells}
        found = [
            row(workload, part, mode, self._cell(workload, part, mode), self._cell(workload, part, "untraced"))
            for workload, part, mode in self.cells
        ]
        failed = [key for key in self.faults if not any((w, p, key[1]) in self.cells for w, p in names if w == key[0])]
        found += [
            {"workload": w, "part": None, "mode": m, "launches": 0, "faults": self.faults[w, m]} for w, m in failed
        ]
        return found

    def _cell(self, workload: str, part: str, mode: str) -> Cell:
        cell = self.cells.get((workload, part, mode), Cell())
        cell.faults = self.faults.get((workload, mode), [])
        return cell


def measure(
    workloads: list[str],
    modes: list[str],
    rounds: int,
    seconds: float,
    start: Callable[..., Launched] = launch,
    keep: Callable[[Session], None] = lambda session: None,
) -> Session:
    """Round robin until the rounds are done or no launch fits the time that is left; a mode that failed twice rests.

    `keep` gets all that is known after each launch, so that an end from outside loses one launch only.
    """
    session, until = Session(), time.monotonic() + seconds
    cells = [(workload, mode) for workload in workloads for mode in modes]
    for number in range(rounds):
        started = 0
        for workload, mode in order(number, cells):
            left = until - time.monotonic()
            same = [s for (name, _), past in session.taken.items() if name == workload for s in past]
            if len(session.faults.get((workload, mode), ())) >= 2 or not fits(
                session.taken[workload, mode], same, left
            ):
                continue
            started += 1
            with tempfile.TemporaryDirectory(prefix="stepprof-overhead-") as name:
                begin, folder = time.monotonic(), Path(name)
                command = [sys.executable, str(FOLDER / WORKLOADS[workload][0]), *WORKLOADS[workload][1:]]
                launched = start(mode, command, folder, min(LAUNCH_LIMIT_S, left + 30))
                session.add(workload, mode, launched, folder)
                session.taken[workload, mode].append(time.monotonic() - begin)
            keep(session)
            sys.stderr.write(f"{workload} {mode}: {session.taken[workload, mode][-1]:.1f} s {launched.fault}\n")
        if not started:
            break
    for key in cells:
        if not session.taken[key]:
            session.faults[key].append("no time was left for a launch: raise --seconds or name fewer --workloads")
    return session


def machine() -> dict[str, Any]:
    """GPUs, driver, versions; None for what is not there."""
    ask = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        lines = []
    cards = [line.split(", ") for line in lines]
    gpu = f"{len(cards)} x {cards[0][0]}" if len(cards) > 1 else cards[0][0] if cards else None
    return {"gpu": gpu, "driver": cards[0][1] if cards else None, "versions": _versions()}


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in ("torch", "triton", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def parser() -> argparse.ArgumentParser:
    """All switches."""
    top = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    top.add_argument("--workloads", type=lambda text: text.split(","), default=list(DEFAULT), help="with commas")
    top.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES), help="with commas")
    top.add_argument("--rounds", type=int, default=100, help="rounds at most")
    top.add_argument("--seconds", type=float, default=480, help="start no launch that would end after this time")
    top.add_argument("--receipt", type=Path, help="write the document here too")
    return top


def main() -> None:
    """Measure and print the receipt as one JSON document."""
    top = parser()
    given = top.parse_args()
    for word in {*given.workloads} - {*WORKLOADS}:
        top.error(f"--workloads: no '{word}'; there are {', '.join(WORKLOADS)}")
    for word in {*given.modes} - {*MODES}:
        top.error(f"--modes: no '{word}'; there are {', '.join(MODES)}")
    words = f"--workloads {','.join(given.workloads)} --modes {','.join(given.modes)} --seconds {given.seconds:g}"
    head = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **machine(),
        "command": f"python benchmarks/overhead.py {words}",
    }

    def keep(session: Session) -> None:
        if given.receipt:
            given.receipt.write_text(json.dumps({**head, "rows": session.rows()}, indent=1) + "\n")

    session = measure(given.workloads, given.modes, given.rounds, given.seconds, keep=keep)
    keep(session)
    print(json.dumps({**head, "rows": session.rows()}, indent=1))


if __name__ == "__main__":
    main()
