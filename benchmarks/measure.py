"""Commands in processes of their own: wall and CPU seconds, peak memory, what they print.

run = measured([sys.executable, "child.py", "import", trace, out])
run.wall_s, run.rss_mb, run.answer
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")


class Failed(Exception):
    """A command ended with a fault; the text is the end of what it said."""


@dataclass(frozen=True)
class Run:
    """One process from its start to its end, interpreter and imports included."""

    wall_s: float
    cpu_s: float
    rss_mb: int
    answer: Any  # the last line of its output where that is JSON


def measured(command: list[str], env: Mapping[str, str] | None = None) -> Run:
    """Run a command to its end; Failed where it does not end well."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})}
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode:
        raise Failed(said.strip()[-300:])
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, _last_document(said))


def task(name: str, *paths: Path) -> Run:
    """Run one task of child.py."""
    run = measured([sys.executable, str(CHILD), name, *map(str, paths)])
    return Run(run.wall_s, run.cpu_s, run.rss_mb, run.answer["answer"])


def _last_document(said: str) -> Any:
    lines = said.strip().splitlines()
    try:
        return json.loads(lines[-1]) if lines else None
    except ValueError:
        return None


def figures(runs: Iterable[Run]) -> dict[str, Any]:
    """Medians over runs, the largest memory, all wall times."""
    runs = list(runs)
    return {
        "wall_s": round(statistics.median(run.wall_s for run in runs), 2),
        "cpu_s": round(statistics.median(run.cpu_s for run in runs), 2),
        "rss_mb": max(run.rss_mb for run in runs),
        "wall_runs_s": [round(run.wall_s, 2) for run in runs],
    }
