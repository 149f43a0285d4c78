"""`bench experts`: the gather-GEMMs of cold experts at a few rows, by backend and by how the sum over experts is taken.

`up_gate` and `down` are parts; `experts` is all that a sidecar call computes, with the ordered sum (down, then reduce)
or the atomic one. The backend `reference` copies the weights that it gathers, as a plain torch program would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels import expert_gemm
from stepprof.kernels.backends import Backend
from stepprof.kernels.bench import file
from stepprof.kernels.bench.blocks import Stage, Subject, calibrate, interleave, plan_of, say
from stepprof.kernels.bench.machine import runnable
from stepprof.kernels.bench.sampler import HOST, IN_GRAPH, InGraph, OnHost
from stepprof.kernels.shapes import PRESETS, Shapes

CALLS = 16  # of a graph, each with the next experts of the bank
NAMES = ("up_gate", "down", "experts")
BACKENDS: tuple[Backend, ...] = ("triton", "reference")


@dataclass(frozen=True)
class Wanted:
    """What to measure, and in how long."""

    preset: str = "flash"
    rows: tuple[int, ...] = (1, 2, 4, 8)
    backends: tuple[Backend, ...] = BACKENDS
    each: int = 1  # experts of a row
    samples: int = 500
    blocks: int = 25
    budget_s: float | None = None
    fit: bool = False
    bar_us: float | None = None
    output: Path | None = None
    command: str = ""


class Experts:
    """A bank of cold experts, and calls on it."""

    def __init__(self, shapes: Shapes, device: torch.device, dtype: torch.dtype) -> None:
        self.shapes, self.device, self.dtype = shapes, device, dtype
        self.count = shapes.experts - shapes.hot_experts
        wide, deep = (2 * shapes.expert_width, shapes.hidden), (shapes.hidden, shapes.expert_width)
        self.w_in, self.w_out = (torch.randn(self.count, *s, dtype=dtype, device=device) for s in (wide, deep))

    def slots(self, rows: int, each: int, call: int) -> torch.Tensor:
        """Each row has the next experts of the bank: [T, A] int32, -1 where it has no further one."""
        slots = torch.full((rows, self.shapes.top_k), -1, dtype=torch.int32)
        first = call * rows * each
        slots[:, :each] = (torch.arange(first, first + rows * each) % self.count).view(rows, each).int()
        return slots.to(self.device)

    def calls(self, name: str, rows: int, each: int, backend: Backend, reduce: str) -> list[Callable[[], Any]]:
        """CALLS calls with inputs of their own."""
        return [self._call(name, rows, backend, reduce, self.slots(rows, each, i)) for i in range(CALLS)]

    def _call(self, name: str, rows: int, backend: Backend, reduce: str, slots: torch.Tensor) -> Callable[[], Any]:
        s, device = self.shapes, self.device
        x = torch.randn(rows, s.hidden, dtype=self.dtype, device=device)
        h = torch.randn(rows, s.top_k, s.expert_width, dtype=self.dtype, device=device)
        weights = torch.rand(rows, s.top_k, device=device)

        def up() -> torch.Tensor:
            return expert_gemm.up_gate(x, slots, self.w_in, backend=backend)

        def down(h: torch.Tensor) -> torch.Tensor:
            if reduce == "atomic":
                return expert_gemm.down_atomic(h, slots, weights, self.w_out, backend=backend)
            parts = expert_gemm.down(h, slots, weights, self.w_out, backend=backend)
            return expert_gemm.reduce(parts, self.dtype, backend=backend)

        return {"up_gate": up, "down": lambda: down(h), "experts": lambda: down(up())}[name]


def bench_experts(wanted: Wanted) -> dict[str, Any]:
    """The bench file's document, written as well where `wanted` names a file."""
    file.must_be_writable(wanted.output)
    start = time.perf_counter()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
    backends, warnings = runnable(wanted.backends, BACKENDS, device, "reference")
    shapes = next(one for one in PRESETS if one.name == wanted.preset)
    bank = Experts(shapes, device, torch.bfloat16 if cuda else torch.float32)
    if not 1 <= wanted.each <= min(shapes.top_k, bank.count):
        raise file.BenchFault(f"--row-experts {wanted.each} must lie between 1 and {min(shapes.top_k, bank.count)}.")
    stages = [_stage(bank, name, rows, wanted, backends) for name in NAMES for rows in wanted.rows]
    costs = calibrate(stages)
    compiled = time.perf_counter() - start
    plan = plan_of(costs, wanted.samples, wanted.blocks, wanted.budget_s, wanted.fit)
    say(f"compiled and warm after {compiled:.1f} s; timing takes about {plan.expected_s:.0f} s")
    start = time.perf_counter()
    times = interleave(stages, plan)
    bar = None if wanted.bar_us is None else {"value": wanted.bar_us, "kind": "quoted"}
    spent = {"compile_s": round(compiled, 3), "timing_s": round(time.perf_counter() - start, 3)}
    document = file.head("experts", wanted.command, IN_GRAPH if cuda else HOST, [device], warnings)
    document |= {"preset": wanted.preset, "row_experts": wanted.each, "bar_us": bar}
    document["plan"] = plan.document(len(times)) | spent
    document["results"] = [
        file.result(name, rows, mode, blocks, experts=min(rows * wanted.each, bank.count))
        for (name, rows, mode), blocks in times.items()
    ]
    document["complete"] = True
    if wanted.output is not None:
        file.write(wanted.output, document)
    return document


def _stage(bank: Experts, name: str, rows: int, wanted: Wanted, backends: Sequence[Backend]) -> Stage:
    """One part at one number of rows: a subject for each backend and each way to sum."""
    subjects: list[Subject] = []
    for backend in backends:
        for reduce in ("ordered",) if name == "up_gate" else ("ordered", "atomic"):
            mode = backend if name == "up_gate" else f"{backend} {reduce}"
            calls = bank.calls(name, rows, wanted.each, backend, reduce)
            sampler = InGraph(calls) if bank.device.type == "cuda" else OnHost(calls)
            subjects.append(Subject(name, rows, mode, sampler.sample))
    return Stage(subjects)
