"""All launches of benchmarks/overhead.py so far, and those of a receipt taken up again.

session = continued(receipt)
session.add("chains", "nsys", launched, folder)
session.rows()
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overhead_figures import Cell, cell_of, row
from overhead_modes import Launched, traced_parts

NO_TIME = "no time was left for a launch: raise --seconds or name fewer --workloads"


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

    def launches(self, workload: str, mode: str) -> int:
        """How many have ended well."""
        return max((len(cell.walls) for (w, _, m), cell in self.cells.items() if (w, m) == (workload, mode)), default=0)

    def rows(self) -> list[dict[str, Any]]:
        """One row a part and mode; modes that never worked have one for the workload."""
        names = {(workload, part) for workload, part, _ in self.cells}
        found = [
            row(workload, part, mode, *(self._cell(workload, part, m) for m in (mode, "untraced", "nsys")))
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


def continued(receipt: dict[str, Any]) -> Session:
    """The launches of a receipt as a session."""
    session = Session()
    for found in receipt["rows"]:
        key = found["workload"], found["mode"]
        if faults := [fault for fault in found["faults"] if fault != NO_TIME]:
            session.faults[key] = faults
        if found["part"] is not None:
            session.cells[found["workload"], found["part"], found["mode"]] = cell_of(found)
    return session
