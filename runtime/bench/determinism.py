"""`bench determinism`: the same calls twice, bit by bit; with the ordered sum over experts as negative control.

Each row of a call sums a number of cold experts drawn anew, from one to all that it may choose. Calls are grouped by
their rows and by the most experts that one of their rows sums: where only calls that sum two or more ever differ, the
sum's order is what differs (analyses/bench/determinism.py says so).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.bench import file
from stepprof.kernels.bench.blocks import MARGIN, OverBudget, say
from stepprof.kernels.bench.machine import on_cpu
from stepprof.runtime.bench.alone import SidecarAlone, devices_of
from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Options, Reduce
from stepprof.runtime.placement import Placement
from stepprof.runtime.weights import Weights

NAME = "sidecar answer"
CALIBRATION = 16  # calls
CHUNK = 500  # calls whose inputs and answers are kept at once
REDUCES: tuple[Reduce, ...] = ("atomic", "ordered")
BITS = {2: torch.int16, 4: torch.int32}

Counts = dict[tuple[int, int], list[int]]  # (rows, experts) -> calls, calls that differ, largest difference in ulp


@dataclass(frozen=True)
class Twice:
    """What to call twice."""

    rows: tuple[int, ...]
    calls: int  # of each reduce, spread over `rows`
    seed: int = 0
    budget_s: float | None = None
    output: Path | None = None
    command: str = ""

    def __post_init__(self) -> None:
        if not self.rows or min(self.rows) < 1:
            raise ConfigError("bench determinism takes --rows of 1 or more.")


@dataclass(frozen=True)
class Inputs:
    """N calls; letters as in stepprof.kernels."""

    rows: torch.Tensor  # [N] on the host
    experts: torch.Tensor  # [N] on the host: the most that a row sums
    x: torch.Tensor  # [N, T, D]
    slots: torch.Tensor  # [N, T, A] int32
    weights: torch.Tensor  # [N, T, A] float32


def bench_determinism(
    config: Config, options: Options, weights: Weights, placement: Placement, twice: Twice
) -> dict[str, Any]:
    """The document, written as well where `twice` names a file."""
    if options.sidecar_mode == "off":
        raise ConfigError("bench determinism needs a sidecar: use --sidecar-mode graph, call or persistent.")
    file.must_be_writable(twice.output)
    warnings, clock = on_cpu(devices_of(options), "answers"), "nothing is timed: answers are compared bit by bit"
    document = file.head("determinism", twice.command, clock, devices_of(options), warnings)
    document |= {"preset": config.name, "mode": options.sidecar_mode, "dtype": config.dtype}
    for reduce in REDUCES:
        mode, chosen = options.sidecar_mode, replace(options, reduce=reduce)
        with SidecarAlone.make(mode, config, chosen, weights, placement, rows=twice.rows) as alone:
            counts = _compared(alone, config, twice, reduce)
        for (rows, experts), (calls, differ, ulp) in sorted(counts.items()):
            figures = {"calls": calls, "differ": differ, "max_ulp": ulp}
            group = {"name": NAME, "mode": options.sidecar_mode, "reduce": reduce, "rows": rows, "experts": experts}
            document["results"].append(group | figures)
    document["complete"] = True
    if twice.output is not None:
        file.write(twice.output, document)
    return document


@torch.no_grad()
def _compared(alone: SidecarAlone, config: Config, twice: Twice, reduce: Reduce) -> Counts:
    generator = torch.Generator().manual_seed(twice.seed)
    counts: Counts = defaultdict(lambda: [0, 0, 0])
    alone.open()
    if reduce == REDUCES[0]:  # once, for all of them: later it would throw away what is done
        _fits(twice, _seconds_twice(alone, config, twice))
    say(f"{twice.calls:,} calls twice, {reduce} sum …")
    for first in range(0, twice.calls, CHUNK):
        rows = [twice.rows[i % len(twice.rows)] for i in range(first, min(first + CHUNK, twice.calls))]
        inputs = draw(alone, config, rows, generator)
        add(counts, inputs, _answers(alone, inputs), _answers(alone, inputs))
    alone.pause()
    return counts


def _seconds_twice(alone: SidecarAlone, config: Config, twice: Twice) -> float:
    """What a call costs, made twice with each way to sum as if all cost the same; the calls are thrown away."""
    rows = [twice.rows[i % len(twice.rows)] for i in range(CALIBRATION)]
    inputs = draw(alone, config, rows, torch.Generator().manual_seed(twice.seed))
    _answers(alone, inputs)
    start = time.perf_counter()
    _answers(alone, inputs)
    return (time.perf_counter() - start) * 2 * len(REDUCES) / len(rows)


def _fits(twice: Twice, seconds: float) -> None:
    """OverBudget where the calls of all reduces, at so many seconds each, take too long."""
    expected = seconds * twice.calls
    if twice.budget_s is not None and expected > twice.budget_s:
        most = int(twice.budget_s / seconds / MARGIN)
        fewer = f", or --calls {most}" if most else ""
        raise OverBudget(
            f"{twice.calls:,} calls twice would take about {expected:.1f} s, the budget is {twice.budget_s:g} s; "
            f"nothing was compared: give --budget {math.ceil(MARGIN * expected)}{fewer}."
        )


def draw(alone: SidecarAlone, config: Config, rows: Sequence[int], generator: torch.Generator) -> Inputs:
    """Inputs of one call for each entry of `rows`."""
    n, total, top_k = len(rows), alone.rows, config.top_k
    most = min(top_k, alone.slots)
    held = torch.tensor(rows)
    sums = torch.randint(1, most + 1, (n, total), generator=generator)  # experts of each row
    # distinct experts of a row: the first of a random order of all
    order = torch.rand(n, total, alone.slots, generator=generator).argsort(-1)[..., :most]
    slots = torch.full((n, total, top_k), -1, dtype=torch.int32)
    slots[..., :most] = torch.where(torch.arange(most) < sums[..., None], order, -1).int()
    inside = torch.arange(total) < held[:, None]  # [N, T]
    slots[~inside] = -1
    x = torch.randn(n, total, config.hidden, generator=generator).to(getattr(torch, config.dtype))
    weights = torch.rand(n, total, top_k, generator=generator)
    experts = torch.where(inside, sums, 0).amax(1)
    device = alone.device
    return Inputs(held, experts, x.to(device), slots.to(device), weights.to(device))


def _answers(alone: SidecarAlone, inputs: Inputs) -> torch.Tensor:
    """[N, T, D] on the main card."""
    answers = torch.empty_like(inputs.x)
    box = alone.box()
    alone.filled = -1
    box.rows.copy_(torch.arange(alone.rows, dtype=torch.int32))
    for i, rows in enumerate(inputs.rows.tolist()):
        box.held.fill_(rows)
        box.x.copy_(inputs.x[i])
        box.slots.copy_(inputs.slots[i])
        box.weights.copy_(inputs.weights[i])
        answers[i] = alone.answer()
    return answers


def add(counts: Counts, inputs: Inputs, first: torch.Tensor, second: torch.Tensor) -> None:
    """Count calls whose answers [N, T, D] differ; rows that a call has not are left out."""
    inside = (torch.arange(first.shape[1]) < inputs.rows[:, None]).to(first.device)
    different = ((_bits(first) != _bits(second)).any(-1) & inside).any(-1).tolist()
    far = ulps(first, second).amax(-1).masked_fill(~inside, 0).amax(-1).tolist()
    for key, differs, ulp in zip(
        zip(inputs.rows.tolist(), inputs.experts.tolist(), strict=True), different, far, strict=True
    ):
        group = counts[key]
        group[0] += 1
        group[1] += differs
        group[2] = max(group[2], ulp)


def ulps(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """How many representable numbers lie between a and b, elementwise; int64. Numbers only."""
    return (_ordered(a) - _ordered(b)).abs()


def _ordered(x: torch.Tensor) -> torch.Tensor:
    """Integers in the order of the numbers; both zeros are 0."""
    bits = _bits(x).long()
    return torch.where(bits < 0, -(2 ** (8 * x.itemsize - 1)) - bits, bits)


def _bits(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous().view(BITS[x.itemsize])
