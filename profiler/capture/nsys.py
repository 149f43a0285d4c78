"""The nsys backend: Nsight Systems in node mode, judged by the report it leaves, imported.

    recording = record(sitting, command, folder, window)

Switches come and go between versions, so `nsys profile --help` is asked before one is used. nsys's exit
code says little (a duration that ends is 143, a range that never came 0): the report file decides.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Literal

from stepprof.profiler.capture.cupti import Recording
from stepprof.profiler.capture.program import Sitting
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.nsys_tools import find_nsys
from stepprof.profiler.ingest.window import Window

WISHES = (
    ("--cuda-graph-trace", "node"),  # without it the kernels of graphs are hidden
    ("--sample", "none"),
    ("--cpuctxsw", "none"),
    ("--resolve-symbols", "false"),
    ("--stats", "false"),
)
KILLED_BY_DURATION = 143


def nsys_here() -> str:
    """The nsys to use; InputError where there is none."""
    found = [os.environ["NSYS"]] if os.environ.get("NSYS") else [str(path) for path in find_nsys()]
    if not found:
        raise InputError("nsys is not found: install Nsight Systems, put it on PATH, or use --backend cupti.")
    return found[0]


def picked_instead() -> tuple[Literal["cupti", "nsys"], str]:
    """What `auto` uses where no libcupti is found on this machine."""
    try:
        return "nsys", f"no libcupti is found here, {nsys_here()} is"
    except InputError:
        return "cupti", "no libcupti is found here, but the program may bring one (torch does)"


def record(sitting: Sitting, command: list[str], folder: Path, window: Window) -> Recording:
    """Run the program under nsys; its report is the trace, converted when it is imported."""
    nsys = nsys_here()
    report = folder / "report"
    code = sitting.run([nsys, "profile", *_switches(nsys, window), "-f", "true", "-o", str(report), "--", *command], {})
    ended = window.duration_s > 0 and code == KILLED_BY_DURATION
    for made in (report.with_suffix(".nsys-rep"), report.with_suffix(".qdstrm")):
        if made.exists():
            return Recording(0 if ended else code, made)
    raise InputError(f"nsys left no report (exit code {code}): see its messages above, or use --backend cupti.")


def _switches(nsys: str, window: Window) -> list[str]:
    """The switches that this version has."""
    asked = subprocess.run([nsys, "profile", "--help"], capture_output=True, text=True, check=False)
    help_text = asked.stdout + asked.stderr
    if "--cuda-graph-trace" not in help_text:
        raise InputError(f"{nsys} is too old to see inside CUDA graphs: install Nsight Systems 2022.4 or newer.")
    switches = ["-t", "cuda,nvtx", *(f"{name}={value}" for name, value in WISHES if name in help_text)]
    if "--cuda-event-trace" in help_text:
        switches.append("--cuda-event-trace=false")
    return switches + _window(window)


def _window(window: Window) -> list[str]:
    """Times only: steps and ranges are kept to when the report is imported (window.keep_window)."""
    times = (("--delay", window.delay_s), ("--duration", window.duration_s))
    for name, seconds in times:
        if seconds != int(seconds):
            raise UsageError(f"{name} {seconds:g}: nsys takes whole seconds: give some, or use --backend cupti.")
    return [f"{name}={int(seconds)}" for name, seconds in times if seconds > 0]
