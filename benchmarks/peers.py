"""Other tools on the same files, each in a virtual environment of its own below the build folder.

    measure_peers(export, trace, truth, folder)     # {"nsys-ai": {...}, "HTA": {"skipped": "..."}}

A peer that pip cannot install, or that fails, is left out with the reason. Each command starts
with a fresh folder that holds the file alone, so that no cache is found.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Failed, Run, figures, measured
from tiling import Truth

# DuckDB 2 has no SQLite extension on PyPI and would ask the network for it at every start
EXTENSION = """
import duckdb, duckdb_extension_sqlite_scanner as package, pathlib
file, = pathlib.Path(package.__file__).parent.rglob("*.duckdb_extension")
duckdb.execute(f"INSTALL '{file}'")
"""
NSYS_AI_LOAD = "import sys; from nsys_ai.profile import Profile; Profile(sys.argv[1])"
NSYS_AI_ASK = """
import json, sys
from nsys_ai.profile import Profile
from nsys_ai.skills.registry import get_skill
profile = Profile(sys.argv[1])
connection = profile.db if profile.db is not None else profile.conn
found = get_skill("iteration_timing").execute(connection, marker="step")
for name in ("nvtx_layer_breakdown", "gpu_idle_gaps"):
    get_skill(name).execute(connection)
steps = [row for row in found if "kernel_count" in row]
print(json.dumps({"steps": len(steps), "step_ops": sum(row["kernel_count"] for row in steps)}))
"""
HTA_LOAD = """
import os, sys
from hta.trace_analysis import TraceAnalysis
found = TraceAnalysis(trace_dir=os.path.dirname(sys.argv[1]))
"""
HTA_ASK = """
import json
found.get_temporal_breakdown(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
names = found.t.symbol_table.get_sym_table()
print(json.dumps({"kernels": int((found.t.get_trace(0)["cat"] == names.index("kernel")).sum())}))
"""


@dataclass(frozen=True)
class Peer:
    """A tool: what to install, and programs that take the file."""

    name: str
    packages: tuple[str, ...]
    reads: str  # sqlite or json
    programs: dict[str, str]
    prepare: str = ""


PEERS = (
    Peer(
        "nsys-ai",
        ("nsys-ai", "duckdb-extension-sqlite-scanner"),
        "sqlite",
        {"load": NSYS_AI_LOAD, "load + 3 questions": NSYS_AI_ASK},
        EXTENSION,
    ),
    Peer(
        "HolisticTraceAnalysis",
        ("HolisticTraceAnalysis",),
        "json",
        {"load": HTA_LOAD, "load + 2 questions": HTA_LOAD + HTA_ASK},
    ),
)


def measure_peers(export: Path, trace: Path, truth: Truth, folder: Path, rounds: int = 1) -> dict[str, Any]:
    """Figures of each peer by program, its answer beside the truth."""
    result: dict[str, Any] = {}
    for peer in PEERS:
        try:
            python, version = _installed(peer, folder / f"peer-{peer.name}")
            file = export if peer.reads == "sqlite" else trace
            result[peer.name] = {"version": version, "reads": peer.reads} | {
                label: _program(python, code, file, truth, rounds) for label, code in peer.programs.items()
            }
        except Failed as fault:
            result[peer.name] = {"skipped": str(fault)}
    return result


def _installed(peer: Peer, home: Path) -> tuple[Path, str]:
    """The interpreter of the peer's environment and the peer's version; Failed with pip's last line."""
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        _quiet([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages], home)
        _quiet([str(python), "-c", peer.prepare], home)
        (home / "ready").touch()
    code = f"import importlib.metadata as m; print(m.version({peer.name!r}))"
    return python, subprocess.check_output([python, "-c", code], text=True).strip()


def _quiet(command: list[str], home: Path) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "HOME": str(home)})
    if done.returncode:
        raise Failed(f"cannot be installed: {(done.stderr.strip() or 'no reason given').splitlines()[-1][:200]}")


def _program(python: Path, code: str, file: Path, truth: Truth, rounds: int) -> dict[str, Any]:
    runs = [_fresh(python, code, file) for _ in range(rounds)]
    answer = runs[-1].answer
    if not isinstance(answer, dict):
        return figures(runs)
    right = {key: value == getattr(truth, key) for key, value in answer.items()}
    return figures(runs) | {"answer": answer, "right": right}


def _fresh(python: Path, code: str, file: Path) -> Run:
    """One run on a copy (a link) that no earlier run has left a cache beside."""
    with tempfile.TemporaryDirectory(dir=file.parent) as alone:
        link = Path(alone) / file.name
        os.link(file, link)
        return measured([str(python), "-c", code, str(link)], {"HOME": str(python.parent.parent), "PYTHONPATH": ""})
