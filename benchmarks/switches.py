"""What each switch of the built-in model changes: every variant beside one shared control, in a round robin.

    python benchmarks/switches.py --preset mini --rounds 3 --steps 60 --receipt benchmarks/receipts/switches_mini.json
    python benchmarks/switches.py --variants "share-topk,k 3" --devices cuda:0,cuda:0

A launch is a process of its own; its figure is its p50 step. Per variant: the median over launches, the
difference to the control's median, and the control's own spread (largest minus smallest) as the noise to
hold it against. A variant that fails is kept with its sentence. Takes two GPUs where there are two; on one,
which is then both cards, the sidecar hides nothing and its persistent mode is refused; the receipt says so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from receipt import changed, commands, gpus, versions

from stepprof.runtime.arguments import devices as devices_of
from stepprof.runtime.config import PRESETS, Config, preset


def variants(config: Config) -> dict[str, tuple[str, ...]]:
    """Switches by name; counts of experts and layers are those of the preset."""
    half = config.hot_experts + (config.experts - config.hot_experts) // 2
    return {
        "control": (),
        "share-topk": ("--share-topk",),
        "fuse boundary": ("--fuse", "boundary"),
        "fuse moe_front": ("--fuse", "moe_front"),
        "fuse attn": ("--fuse", "attn"),
        "fuse all": ("--fuse", "boundary,moe_front,attn"),
        "mhc-stream": ("--mhc-stream",),
        "sidecar off": ("--sidecar-mode", "off", "--hot-experts", str(config.experts)),
        "sidecar call": ("--sidecar-mode", "call"),
        "sidecar persistent": ("--sidecar-mode", "persistent"),
        "sidecar stub": ("--sidecar-mode", "stub"),
        "half of cold experts moved": ("--hot-experts", str(half)),
        "reduce atomic": ("--reduce", "atomic"),
        "k 3": ("--k", "3"),
        "layers fewer": ("--layers", str(config.layers - max(1, config.layers // 5))),
        "pad lm_head 50 us": ("--pad-op", "lm_head=50"),
    }


@dataclass(frozen=True)
class Launcher:
    """How a variant is launched."""

    preset: str
    steps: int
    devices: tuple[str, str]  # main, sidecar

    def command(self, switches: tuple[str, ...]) -> list[str]:
        """The whole command."""
        words = [sys.executable, "-m", "stepprof.runtime", "run", "--preset", self.preset, "--prompts", "code"]
        words += ["--steps", str(self.steps), "--warm-up", "20", "--json"]
        return [*words, "--device", self.devices[0], "--sidecar-device", self.devices[1], *switches]

    def __call__(self, switches: tuple[str, ...]) -> float | str:
        """The p50 step of one launch in ms, or what it said when it failed."""
        try:
            done = subprocess.run(self.command(switches), capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return "did not end within 120 s"
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]
        return float(json.loads(done.stdout)["classes"][0]["p50_step_ms"]["value"])


def with_controls(names: list[str], controls: int) -> list[str]:
    """A round: all variants, and the control spread evenly among them so many times."""
    others = [name for name in names if name != "control"]
    before = {len(others) * i // controls for i in range(controls)}
    found: list[str] = []
    for i in range(max(1, len(others))):
        found += (["control"] if i in before else []) + others[i : i + 1]
    return found


def measure(
    launch: Launcher, chosen: dict[str, tuple[str, ...]], rounds: int, seconds: float, controls: int = 1
) -> dict[str, list[float | str]]:
    """Figures of all launches by variant; no launch starts after `seconds`, rounds are cut between launches."""
    figures: dict[str, list[float | str]] = {name: [] for name in chosen}
    until = time.monotonic() + seconds
    for number in range(rounds):
        names = with_controls(list(chosen), controls)
        for name in names if number % 2 == 0 else names[::-1]:
            if time.monotonic() < until:
                figures[name].append(launch(chosen[name]))
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


def continued(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Both receipts as one: launches one after the other, commands as a list."""
    figures = {row["variant"]: row["launches_ms"] + row["faults"] for row in before["rows"]}
    for row in more["rows"]:
        figures[row["variant"]] = figures.get(row["variant"], []) + row["launches_ms"] + row["faults"]
    head = {key: before[key] for key in before if key != "rows"} | {"command": [*commands(before), more["command"]]}
    return {**head, "switches": before["switches"] | more["switches"], "rows": table(figures)}


def head_of(given: argparse.Namespace, chosen: dict[str, tuple[str, ...]], devices: tuple[str, str]) -> dict[str, Any]:
    """All of a receipt that is known before anything is measured."""
    alone = (
        {"note": f"both cards are {devices[0]}: the sidecar's work is not hidden."} if devices[0] == devices[1] else {}
    )
    cards = gpus()
    command = f"python benchmarks/switches.py --preset {given.preset} --steps {given.steps} --rounds {given.rounds}"
    command += f" --controls {given.controls}" if given.controls != 1 else ""
    command += f' --variants "{given.variants}"' if given.variants else ""
    command += f" --devices {','.join(given.devices)}" if given.devices else ""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        **({"gpu": cards[0][0], "driver": cards[0][1]} if cards else {}),
        "devices": list(devices),
        **alone,
        "versions": versions("torch", "triton"),
        "command": command,
        "switches": {name: " ".join(words) for name, words in chosen.items()},
    }


def chosen_variants(parser: argparse.ArgumentParser, given: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """The control, and those that are named; all without names."""
    known = variants(preset(given.preset))
    names = [name.strip() for name in given.variants.split(",") if name.strip()] or list(known)
    if strange := [name for name in names if name not in known]:
        parser.error(f"no variant '{strange[0]}'; there are {', '.join(known)}")
    return {name: known[name] for name in dict.fromkeys(["control", *names])}


def pair(text: str) -> tuple[str, str]:
    """MAIN,SIDECAR"""
    main, _, sidecar = text.partition(",")
    return main, sidecar or main


def main() -> None:
    """Measure and print the receipt as one JSON document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--preset", default="mini", choices=list(PRESETS))
    parser.add_argument("--variants", default="", help="names with commas, the control is always among them")
    parser.add_argument("--devices", type=pair, metavar="MAIN,SIDECAR", help="cards, such as cuda:0,cuda:0")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--controls", type=int, default=1, help="launches of the control in a round")
    parser.add_argument("--seconds", type=float, default=480, help="start no launch after this time")
    parser.add_argument("--receipt", type=Path)
    parser.add_argument(
        "--continue", dest="before", type=Path, help="receipt of the same machine to add the launches to"
    )
    given = parser.parse_args()
    before = json.loads(given.before.read_text()) if given.before else None
    chosen, devices = chosen_variants(parser, given), given.devices or devices_of("auto", "auto")
    head = head_of(given, chosen, devices)
    if before is not None and (why := changed(before, head, ("gpu", "driver", "devices", "versions"))):
        parser.error(f"--continue: {why}: start a receipt of its own")
    launcher = Launcher(given.preset, given.steps, devices)
    found = head | {"rows": table(measure(launcher, chosen, given.rounds, given.seconds, given.controls))}
    text = json.dumps(found if before is None else continued(before, found), indent=1)
    print(text)
    if given.receipt:
        given.receipt.write_text(text + "\n")


if __name__ == "__main__":
    main()
