"""DRAM bytes of every op from the GPU's counters, taken by a process of its own that an analyser of NVIDIA's watches.

    found = dram_bytes("flash", (1, 6))
    found.bytes[6, "mhc.pre"]        # (read, written)
    found.source, found.note         # who counted; one line on why it was not another

nsight-python comes first: one function with one annotation an op, so that one start of ncu serves all
of them. Where it is missing or does not get on with the ncu there is (its version 1.1 needs ncu 2026.2),
ncu is started directly over the same calls, and its table is read. Where neither may read counters,
the bytes stay counted from the shapes.

Each kernel starts with empty caches (ncu flushes them before each), so what one kernel of an op hands to
the next is read from memory here. What a kernel leaves in the L2 cache has not been written to memory:
small results show few written bytes or none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Literal

from stepprof.kernels.bench.ncu_table import METRICS, bytes_of_table

How = Literal["auto", "nsight", "ncu", "off"]
Key = tuple[int, str]  # rows, op
Bytes = dict[Key, tuple[int, int]]  # read, written
LIMIT_S = 900.0
PROGRAM = "stepprof.kernels.bench.dram_calls"
NCU = (
    *("ncu", "--csv", "--page", "raw", "--print-units", "base", "--nvtx", "--print-nvtx-rename", "kernel"),
    *("--profile-from-start", "off", "--clock-control", "none", "--cache-control", "all", "--force-overwrite"),
)


@dataclass(frozen=True)
class Dram:
    """Bytes by rows and op; `source` is nsight-python, ncu, or counted where there are none."""

    source: str
    bytes: Bytes
    note: str


class NotMeasured(Exception):
    """Why one way gives no counters, in some words."""


def dram_bytes(preset: str, rows: Sequence[int], ops: Sequence[str] = (), how: How = "auto") -> Dram:
    """Measure the chosen ops; never fails, says instead why nothing was measured."""
    if how == "off":
        return Dram("counted", {}, "DRAM bytes are counted from the shapes (--dram off).")
    if shutil.which("ncu") is None:
        return Dram("counted", {}, "DRAM bytes are counted from the shapes: ncu is not on PATH.")
    words = ["--preset", preset, "--rows", ",".join(map(str, rows)), *(["--ops", ",".join(ops)] if ops else [])]
    ways = {"nsight": ("nsight-python", _by_nsight), "ncu": ("ncu", _by_ncu)}
    failed: list[str] = []
    for name, (source, way) in ways.items():
        if how in ("auto", name):
            try:
                found = way(words)
            except NotMeasured as fault:
                failed.append(f"{source}: {fault}")
                continue
            return Dram(source, found, f"DRAM bytes are read from the GPU's counters ({'; '.join([source, *failed])}).")
    return Dram("counted", {}, f"DRAM bytes are counted from the shapes ({'; '.join(failed)}).")


def _by_nsight(words: list[str]) -> Bytes:
    """The program imports nsight-python, which starts ncu."""
    if importlib.util.find_spec("nsight") is None:
        raise NotMeasured("not installed (pip install 'stepprof[gpu]')")
    with tempfile.TemporaryDirectory(prefix="stepprof-dram-") as folder:
        out = Path(folder) / "bytes.json"
        said = _run([sys.executable, "-m", PROGRAM, *words, "--nsight", str(out)])
        try:
            rows = json.loads(out.read_text())
        except (OSError, ValueError):
            raise NotMeasured(f"it ended without counters{_last_words(said)}") from None
    return {(row["rows"], row["op"]): (row["read"], row["written"]) for row in rows}


def _by_ncu(words: list[str]) -> Bytes:
    """ncu starts the program, and its table goes to a file."""
    with tempfile.TemporaryDirectory(prefix="stepprof-dram-") as folder:
        table = Path(folder) / "table.csv"
        command = [*NCU, "--metrics", ",".join(METRICS), "--log-file", str(table)]
        said = _run([*command, sys.executable, "-m", PROGRAM, *words])
        text = table.read_text(errors="replace") if table.exists() else ""
    found = bytes_of_table(text)
    if not found:
        raise NotMeasured(f"it read no counters{_last_words(said + text)}")
    return found


def _run(command: list[str]) -> str:
    """All that a command said; NotMeasured where it cannot start or does not end in time."""
    env = {**os.environ, "LC_ALL": "C"}  # numbers in the table without the language's own signs
    try:
        program = subprocess.Popen(
            command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace", env=env, start_new_session=True
        )
    except OSError as fault:
        raise NotMeasured(f"it could not be started ({fault.strerror})") from None
    with program:
        try:
            return program.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)  # ncu's own child as well, which holds GPU memory
            raise NotMeasured(f"it took more than {LIMIT_S:g} s") from None


def _last_words(said: str) -> str:
    """The error among what was said, else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "ERR" in line or "Error" in line]
    chosen = (errors or lines)[-1:]
    words = chosen[0][:160].rstrip(".") if chosen else ""
    return f" ({words})" if words else ""
