"""`bench gemm`: dense GEMMs of few rows by backend and tactic, alone and inside a chain of all shapes.

First everything is compiled (into Triton's persistent cache) and captured, with a budget of its own; tactics that it
leaves out are named. Then the timing phase is planned, and only then it starts: its budget is not spent on compiling.
After each shape and number of rows the file is written anew, so that a run that is cut off leaves what it has.

The chain is all shapes back to back, LAYERS times with other weights, the plain torch product everywhere but at the
shape in question. What that shape adds to the chain without it, divided by LAYERS, is its time in the chain: it holds
what a node costs, and may rank tactics otherwise than calls alone do. Results come under NxK and under "NxK in chain".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stepprof.kernels.bench import file
from stepprof.kernels.bench.blocks import Costs, Plan, Stage, Subject, calibrate, interleave, plan_of, say
from stepprof.kernels.bench.gemm_tactics import BACKENDS, Operands, Product, cache_entries, tactics_of
from stepprof.kernels.bench.machine import runnable
from stepprof.kernels.bench.sampler import HOST, ISOLATED, InGraph, Isolated, OnHost

SHAPES = ((1792, 5120), (8192, 1280), (5120, 2048))  # N, K: fused wq_a and wkv; wq_b and wo_b over four cards
LAYERS = 8
CHAIN, REST = "in chain", "chain without it"


@dataclass(frozen=True)
class Wanted:
    """What to measure, and in how long."""

    shapes: tuple[tuple[int, int], ...] = SHAPES
    rows: tuple[int, ...] = (1, 2, 4, 8)
    backends: tuple[str, ...] = BACKENDS
    samples: int = 500  # of each tactic at each shape and number of rows
    blocks: int = 10
    compile_budget_s: float | None = None
    budget_s: float | None = None
    fit: bool = False
    bar_us: float | None = None
    output: Path | None = None
    command: str = ""


@dataclass
class Cell:
    """One shape at one number of rows: its subjects, and tactics that were not compiled in time."""

    name: str
    rows: int
    subjects: list[Subject] = field(default_factory=list[Subject])
    left_out: list[str] = field(default_factory=list[str])
    bytes_read: int = 0


def bench_gemm(wanted: Wanted) -> dict[str, Any]:
    """The bench file's document; the file is written after each cell."""
    file.must_be_writable(wanted.output)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
    backends, warnings = runnable(wanted.backends, BACKENDS, device, "torch")
    wanted = replace(wanted, backends=backends)
    if wanted.bar_us is not None and len(tactics_of(backends, device)) < 2:
        raise file.BenchUsage("--bar needs two tactics to compare, and only one runs here: leave it out.")
    document = file.head("gemm", wanted.command, ISOLATED if cuda else HOST, [device], warnings)
    document["bar_us"] = None if wanted.bar_us is None else {"value": wanted.bar_us, "kind": "quoted"}
    start, before = time.perf_counter(), cache_entries()
    cells = compile_all(wanted, device)
    compiled, fresh = time.perf_counter() - start, cache_entries() - before
    left_out = [f"{cell.name}, {cell.rows} rows: {name}" for cell in cells for name in cell.left_out]
    tried = sum(len(cell.subjects) // 2 for cell in cells)  # alone and in the chain; the rest of a chain is the odd one
    say(f"compiled {tried} products in {compiled:.1f} s ({fresh} new in the cache, {len(left_out)} left out)")
    costs = calibrate([Stage(cell.subjects) for cell in cells])
    plan = plan_of(Costs(costs.sample_s, 0.0), wanted.samples, wanted.blocks, wanted.budget_s, wanted.fit)
    say(f"timing takes about {plan.expected_s:.0f} s")
    spent = {"compile_s": round(compiled, 3), "compiled": tried, "new_in_cache": fresh, "left_out": left_out}
    document["plan"] = plan.document(sum(len(cell.subjects) for cell in cells)) | spent
    start = time.perf_counter()
    for cell in cells:
        document["results"] += timed(cell, plan)
        document["plan"]["timing_s"] = round(time.perf_counter() - start, 3)
        document["complete"] = cell is cells[-1]
        if wanted.output is not None:
            file.write(wanted.output, document)
    return document


def compile_all(wanted: Wanted, device: torch.device) -> list[Cell]:
    """Every cell, its tactics compiled and captured as long as the compile budget lasts; the first one always is."""
    until = float("inf") if wanted.compile_budget_s is None else time.monotonic() + wanted.compile_budget_s
    cells: list[Cell] = []
    for rows in wanted.rows:
        operands = [Operands.make(shape, rows, device, LAYERS) for shape in wanted.shapes]
        plain = tactics_of(("torch",), device)[0]
        for place, one in enumerate(operands):
            cell = Cell(one.name, rows, bytes_read=one.bytes_read)
            cells.append(cell)
            chain = _chain(operands, place, plain, None)
            cell.subjects.append(Subject(one.name, rows, REST, _sampler(chain, device, whole=True)))
            for i, product in enumerate(tactics_of(wanted.backends, device)):
                if i and time.monotonic() > until:
                    cell.left_out.append(product.name)
                    continue
                alone = _sampler(one.calls(product), device, whole=False)
                inside = _sampler(_chain(operands, place, plain, product), device, whole=True)
                cell.subjects.append(Subject(one.name, rows, product.name, alone))
                cell.subjects.append(Subject(f"{one.name} {CHAIN}", rows, product.name, inside))
    return cells


def timed(cell: Cell, plan: Plan) -> list[dict[str, Any]]:
    """The results of one cell."""
    times = interleave([Stage(cell.subjects)], plan)
    rest = np.median(times[cell.name, cell.rows, REST], axis=1)  # [blocks]
    alone: list[dict[str, Any]] = []
    inside: list[dict[str, Any]] = []
    for (name, rows, mode), blocks in times.items():
        if name == cell.name and mode != REST:
            chain = f"{name} {CHAIN}"
            added = (times[chain, rows, mode] - rest[:, None]) / LAYERS
            middle = file.measured(float(np.median(added)))
            alone.append(file.result(name, rows, mode, blocks, in_chain_us=middle, bytes_read=cell.bytes_read))
            inside.append(file.result(chain, rows, mode, added))
    return alone + inside


def _chain(
    operands: Sequence[Operands], place: int, plain: Product, product: Product | None
) -> list[Callable[[], Any]]:
    """All shapes LAYERS times; `product` at `place`, nothing there where it is None."""
    calls: list[Callable[[], Any]] = []
    for layer in range(LAYERS):
        for i, one in enumerate(operands):
            use = product if i == place else plain
            if use is not None:
                calls.append(one.call(use, layer))
    return calls


def _sampler(calls: Sequence[Callable[[], Any]], device: torch.device, whole: bool) -> Callable[[int], float]:
    """µs of one call, or with `whole` of all of them together."""
    if not calls:  # the only shape, left out of its own chain
        return lambda _: 0.0
    if device.type != "cuda":
        return OnHost([lambda: [call() for call in calls]] if whole else calls).sample
    if not whole:
        return Isolated(calls, device).sample
    graph = InGraph(calls)
    return lambda i: graph.sample(i) * graph.count
