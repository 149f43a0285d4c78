"""One launch of a workload in one mode, as a user would start it, and what its trace says.

launched = launch("collector", [python, "chains.py"], folder)
launched.parts or launched.fault
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from overhead_figures import Traced

from stepprof.analyses.attribution import attribute
from stepprof.profiler.errors import StepprofError
from stepprof.profiler.ingest.importer import Extras, import_run
from stepprof.profiler.store import Store, open_run

MODES = ("untraced", "marks", "collector", "nsys", "torch")
STEPPROF = (sys.executable, "-c", "from stepprof.profiler.cli import main; main()")
CAPTURE = {"marks": ("--backend", "marks"), "collector": ("--backend", "cupti", "--no-control", "--keep-records"),
           "nsys": ("--backend", "nsys", "--no-control")}  # fmt: skip


@dataclass(frozen=True)
class Launched:
    """What the workload printed, where its run file or trace lies, or why there is neither."""

    parts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    trace: Path | None = None
    record_bytes: int | None = None
    fault: str = ""


def launch(mode: str, workload: list[str], folder: Path, limit_s: float) -> Launched:
    """Run it once; `folder` is empty and takes what is recorded."""
    run, profile = folder / "run.duckdb", folder / "trace.json"
    command, added = list(workload), dict[str, str]()
    if mode == "torch":
        command, added = [*command, "--torch-profiler", str(profile)], {"STEPPROF_MARKS": "torch"}
    elif mode != "untraced":
        command = [*STEPPROF, "capture", *CAPTURE[mode], "-o", str(run), "--", *command]
    code, said, complaint = _run(command, os.environ | added, limit_s)
    parts = _parts(said)
    if code or not parts:
        return Launched(fault=_fault(code, complaint))
    if mode == "torch":
        return Launched(parts, profile, profile.stat().st_size)
    records = run.with_name(f"{run.name}.records")
    size = sum(path.stat().st_size for path in records.rglob("*")) if records.is_dir() else None
    return Launched(parts, None if mode in ("untraced", "marks") else run, size)


def _fault(code: int, complaint: str) -> str:
    """What stepprof says of the program before all that follows, else the last line, else the exit code."""
    lines = [line for line in complaint.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("stepprof:")]
    return (said[:1] or lines[-1:] or [f"exit code {code} and no step times"])[0][:300]


def _run(command: list[str], env: dict[str, str], limit_s: float) -> tuple[int, str, str]:
    """(exit code, output, complaints); past the limit the whole group of processes ends."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, text=True, start_new_session=True, **pipes) as process:  # pyright: ignore[reportCallIssue, reportArgumentType]
        try:
            said, complaint = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, "", f"did not end within {limit_s:.0f} s"
    return process.returncode, said, complaint


def _parts(said: str) -> list[dict[str, Any]]:
    """The workload's own line, the last that is one."""
    for line in reversed(said.splitlines()):
        if line.startswith('{"workload"'):
            return json.loads(line)["parts"]
    return []


def traced_parts(launched: Launched, folder: Path) -> dict[str, Traced] | str:
    """Figures of each part by name, or the sentence of what is wrong with the trace."""
    assert launched.trace is not None, f"{launched=}"
    run = launched.trace
    try:
        if run.suffix != ".duckdb":
            run = folder / "imported.duckdb"
            import_run(launched.trace, run, Extras(), force=True)
        store = open_run(run)
        try:
            return _figures(store, launched, run.stat().st_size)
        finally:
            store.close()
    except StepprofError as fault:
        return str(fault)


def _figures(store: Store, launched: Launched, run_bytes: int) -> dict[str, Traced]:
    found = attribute(store)
    windows, ops = found.steps.windows, len(found.ops)
    work = np.bincount(found.steps.of_op + 1, found.ops.duration, minlength=len(found.steps) + 1)[1:]
    number = {label: i for i, label in enumerate(found.steps.label)}
    dropped = store.value("SELECT value FROM manifest WHERE key = 'dropped_records'")
    result: dict[str, Traced] = {}
    for part in launched.parts:
        names = (f"step/{n}" for n in range(part["first"], part["first"] + part["steps"]))
        mine = [number[name] for name in names if name in number and windows.ops[number[name]] > 0]
        if mine:
            result[part["name"]] = Traced(
                steps=len(mine),
                ops=float(np.mean(windows.ops[mine])),
                span_us=float(np.median(windows.gpu_end[mine] - windows.gpu_start[mine])) / 1e3,
                work_us=float(np.median(work[mine])) / 1e3,
                dropped=None if dropped is None else int(dropped),
                record_bytes_per_op=None if launched.record_bytes is None else launched.record_bytes / max(1, ops),
                run_bytes_per_op=run_bytes / max(1, ops),
            )
    return result
