"""`bench sidecar`: what a call costs in each mode, by rows, beside the floor of reading its experts.

Modes take turns in blocks (kernels/bench/blocks.py). A call of n rows has n cold experts, or --row-experts times as
many. The floor is the bytes of these experts, read at the bandwidth that a large copy reaches in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.bench import file
from stepprof.kernels.bench.blocks import Stage, Subject, calibrate, interleave, plan_of, say
from stepprof.kernels.bench.machine import Warnings, on_cpu
from stepprof.runtime.bench.alone import CLOCKS, Clock, SidecarAlone, devices_of
from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Mode, Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.weights import Weights

NAME = "sidecar call"


@dataclass(frozen=True)
class Wanted:
    """What to measure, and in how long."""

    modes: tuple[Mode, ...]
    rows: tuple[int, ...]
    calls: int  # of a mode, spread evenly over `rows`
    blocks: int = 25
    each: int = 1  # cold experts of a row
    clock: Clock | None = None
    budget_s: float | None = None
    fit: bool = False
    bar_us: float | None = None
    output: Path | None = None
    command: str = ""

    def __post_init__(self) -> None:
        if "off" in self.modes or not self.modes or len(set(self.modes)) != len(self.modes):
            raise ConfigError(f"--modes {','.join(self.modes)}: name graph, call and persistent, each once.")
        if not self.rows or min(self.rows) < 0 or len(set(self.rows)) != len(self.rows):
            raise ConfigError("--rows takes whole numbers of 0 or more, each once.")
        if self.bar_us is not None and len(self.modes) < 2:
            raise ConfigError(
                f"--bar needs two --modes to compare, not {','.join(self.modes)} alone: add one, or leave it out."
            )
        if self.calls < len(self.rows):
            raise ConfigError(f"--calls {self.calls} must be at least one for each number of rows.")


def bench_sidecar(
    config: Config, options: Options, weights: Weights, placement: Placement, wanted: Wanted
) -> dict[str, Any]:
    """The bench file's document, written as well where `wanted` names a file."""
    file.must_be_writable(wanted.output)
    warnings = on_cpu(devices_of(options), "times")
    start = time.perf_counter()
    with ExitStack() as stack:
        bandwidth = copy_bandwidth(torch.device(options.sidecar_device))
        sidecars: dict[Mode, SidecarAlone] = {}
        for mode in wanted.modes:
            say(f"loading and warming up {mode} …")
            made = SidecarAlone.make(
                mode, config, options, weights, placement, rows=wanted.rows, each=wanted.each, clock=wanted.clock
            )
            sidecars[mode] = stack.enter_context(made)
        stages = [_stage(mode, alone, wanted.rows) for mode, alone in sidecars.items()]
        with torch.no_grad():
            costs = calibrate(stages)
            compiled = time.perf_counter() - start
            plan = plan_of(costs, wanted.calls // len(wanted.rows), wanted.blocks, wanted.budget_s, wanted.fit)
            subjects = len(wanted.modes) * len(wanted.rows)
            say(f"ready after {compiled:.1f} s; timing takes about {plan.expected_s:.0f} s")
            start = time.perf_counter()
            times = interleave(stages, plan)
        document = _head(config, options, wanted, next(iter(sidecars.values())), warnings)
        spent = {"compile_s": round(compiled, 3), "timing_s": round(time.perf_counter() - start, 3)}
        document["plan"] = plan.document(subjects) | spent
        size = 3 * config.hidden * config.expert_width * getattr(torch, config.dtype).itemsize  # bytes of an expert
        for (_, rows, mode), blocks in times.items():
            experts = next(iter(sidecars.values())).distinct(rows)
            floor = {"value": experts * size / bandwidth * 1e6, "kind": "modelled"}
            document["results"].append(file.result(NAME, rows, mode, blocks, experts=experts, floor_us=floor))
    document |= {"bandwidth_gb_per_s": file.measured(bandwidth / 1e9), "complete": True}
    if wanted.output is not None:
        file.write(wanted.output, document)
    return document


def _head(config: Config, options: Options, wanted: Wanted, alone: SidecarAlone, warnings: Warnings) -> dict[str, Any]:
    document = file.head("sidecar", wanted.command, CLOCKS[alone.clock], devices_of(options), warnings)
    bar = None if wanted.bar_us is None else {"value": wanted.bar_us, "kind": "quoted"}
    model = {"preset": config.name, "link": options.link, "reduce": options.reduce, "pass_rows": alone.rows}
    return document | {"bar_us": bar, "row_experts": wanted.each, **model}


def _stage(mode: Mode, alone: SidecarAlone, rows: Sequence[int]) -> Stage:
    """One mode: a subject for each number of rows."""

    def sample(n: int, i: int) -> float:
        alone.fill(n, i)
        return alone.timed()

    subjects = [Subject(NAME, n, mode, lambda i, n=n: sample(n, i)) for n in rows]
    return Stage(subjects, alone.open, alone.pause)


def copy_bandwidth(device: torch.device) -> float:
    """Bytes a second, read and written, of a copy that is larger than any cache."""
    size = 2**30 if device.type == "cuda" else 2**26
    source, target = (torch.zeros(size, dtype=torch.uint8, device=device) for _ in range(2))
    times: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        target.copy_(source)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - start)
    return 2 * size / statistics.median(times)
