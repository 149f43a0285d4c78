"""What each switch of the built-in model changes: every variant beside one shared control, in a round robin.

    python benchmarks/switches.py --preset mini --rounds 3 --steps 60 --receipt benchmarks/receipts/switches_mini.json

A launch is a process of its own; its figure is its p50 step. Per variant: the median over launches, the
difference to the control's median, and the control's own spread (largest minus smallest) as the noise to
hold it against. A variant that fails is kept with its sentence. Needs two GPUs.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VARIANTS: dict[str, tuple[str, ...]] = {
    "control": (),
    "share-topk": ("--share-topk",),
    "fuse boundary": ("--fuse", "boundary"),
    "fuse moe_front": ("--fuse", "moe_front"),
    "fuse attn": ("--fuse", "attn"),
    "fuse all": ("--fuse", "boundary,moe_front,attn"),
    "mhc-stream": ("--mhc-stream",),
    "sidecar off": ("--sidecar-mode", "off"),
    "sidecar call": ("--sidecar-mode", "call"),
    "sidecar persistent": ("--sidecar-mode", "persistent"),
    "reduce atomic": ("--reduce", "atomic"),
    "k 3": ("--k", "3"),
    "pad lm_head 50 us": ("--pad-op", "lm_head=50"),
}


def launch(preset: str, steps: int, switches: tuple[str, ...]) -> float | str:
    """The p50 step of one launch in ms, or what it said when it failed."""
    command = [sys.executable, "-m", "stepprof.runtime", "run", "--preset", preset, "--prompts", "code"]
    command += ["--steps", str(steps), "--warm-up", "5", "--json", *switches]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "did not end within 120 s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
    return float(json.loads(done.stdout)["classes"][0]["p50_step_ms"]["value"])


def measure(preset: str, steps: int, rounds: int, seconds: float) -> dict[str, list[float | str]]:
    """Figures of all launches by variant; no launch starts after `seconds`, rounds are cut between launches."""
    figures: dict[str, list[float | str]] = {name: [] for name in VARIANTS}
    until = time.monotonic() + seconds
    for number in range(rounds):
        names = list(VARIANTS) if number % 2 == 0 else list(VARIANTS)[::-1]
        for name in names:
            if time.monotonic() < until:
                figures[name].append(launch(preset, steps, VARIANTS[name]))
    return figures


def table(figures: dict[str, list[float | str]]) -> list[dict[str, Any]]:
    """One row a variant, held against the control."""
    control = [f for f in figures["control"] if isinstance(f, float)]
    rows: list[dict[str, Any]] = []
    for name, all_launches in figures.items():
        good = [f for f in all_launches if isinstance(f, float)]
        row: dict[str, Any] = {
            "variant": name,
            "launches_ms": good,
            "faults": [f for f in all_launches if f not in good],
        }
        if good and control:
            row["median_ms"] = statistics.median(good)
            row["delta_ms"] = statistics.median(good) - statistics.median(control)
            row["control_spread_ms"] = max(control) - min(control)
        rows.append(row)
    return rows


def gpu() -> dict[str, str]:
    """Name and driver of the first GPU."""
    ask = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    return {"gpu": name, "driver": driver}


def main() -> None:
    """Measure and print the receipt as one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=480, help="start no launch after this time")
    parser.add_argument("--receipt", type=Path)
    given = parser.parse_args()
    import torch  # only for its version, and only where there is a GPU
    import triton

    receipt = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **gpu(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "triton": triton.__version__},
        "command": f"python benchmarks/switches.py --preset {given.preset} --steps {given.steps} --rounds {given.rounds}",
        "rows": table(measure(given.preset, given.steps, given.rounds, given.seconds)),
    }
    text = json.dumps(receipt, indent=1)
    print(text)
    if given.receipt:
        given.receipt.write_text(text + "\n")


if __name__ == "__main__":
    main()
