"""The bench file: one schema for what every bench measures, written whole or not at all.

    {"bench": "sidecar", "date": "2026-11-30", "gpu": ["NVIDIA H200", …], "versions": {"torch": …}, "command": "…",
     "clock": "…", "warnings": [], "complete": true, "plan": {…}, "bar_us": {"value": 20.0, "kind": "quoted"} or null,
     "results": [
        {"name": "sidecar call", "rows": 1, "mode": "call", "calls": 25000,
         "p50_us": {"value": 82.9, "kind": "measured"}, "p95_us": …, "p99_us": …, "max_us": …, "mean_us": …,
         "block_p50_us": [82.7, 83.1, …], …}]}

A result is one thing at one number of rows in one mode (a sidecar's mode, a kernel's backend or tactic). Block
medians are in the order of the rounds, so that those of two modes pair up. `clock` says what one sample is, `gpu`
is empty on the CPU, and each warning has a code, a count and a text.
A bench adds keys of its own to the document and to results; what-if takes such a file as `from =`.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

PERCENTILES = {"p50_us": 50, "p95_us": 95, "p99_us": 99, "max_us": 100}


class BenchFault(Exception):
    """A bench cannot do what was asked: one sentence with the way out."""


class BenchUsage(BenchFault):
    """It was asked for what makes no sense anywhere."""


def head(
    bench: str, command: str, clock: str, devices: Sequence[torch.device], warnings: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """A document without results; `devices` are those that the bench runs on."""
    cards = [one for one in dict.fromkeys(devices) if one.type == "cuda"]
    return {
        "bench": bench,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": [torch.cuda.get_device_name(one) for one in cards],
        "versions": _versions(),
        "command": command,
        "clock": clock,
        "warnings": list(warnings),
        "complete": False,
        "plan": {},
        "bar_us": None,
        "results": [],
    }


def result(name: str, rows: int, mode: str, blocks: np.ndarray, **more: Any) -> dict[str, Any]:
    """One line of `results`; blocks [B, N] are the samples in µs, a row a block."""
    values = {key: measured(float(np.percentile(blocks, share))) for key, share in PERCENTILES.items()}
    return {
        "name": name,
        "rows": rows,
        "mode": mode,
        "calls": int(blocks.size),
        **values,
        "mean_us": measured(float(blocks.mean())),
        "block_p50_us": np.median(blocks, axis=1).round(4).tolist(),
        **more,
    }


def measured(value: float) -> dict[str, Any]:
    """A figure that this run measured."""
    return {"value": value, "kind": "measured"}


def write(path: Path, document: dict[str, Any]) -> None:
    """Write the file whole or not at all; BenchFault where it cannot be."""
    name = ""
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            name = file.name
            json.dump(document, file, indent=1, allow_nan=False)
            file.write("\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as fault:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise BenchFault(f"{path} cannot be written ({fault.strerror}): choose another file.") from None


def must_be_writable(path: Path | None) -> None:
    """BenchFault now rather than after the measurement."""
    if path is not None and not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise BenchFault(f"{path} cannot be written (no such folder, or not yours): choose another file.")


def _versions() -> dict[str, str]:
    known = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.version.cuda:
        known["cuda"] = torch.version.cuda
    with contextlib.suppress(PackageNotFoundError):
        known["triton"] = version("triton")
    return known
