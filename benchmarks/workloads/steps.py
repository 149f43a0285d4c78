"""Steps of a workload, marked and timed by the workload itself; one JSON line comes out.

    add_switches(parser)
    run_steps("chains", parts, given)

Wall is the host's clock from before a step until all of it is done; span is told by CUDA events, so that neither
comes from a tool. Marks are opened only where somebody listens (stepprof.profiler.marks).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stepprof.profiler import marks
from stepprof.profiler.marks import NOTHING, mark


@dataclass(frozen=True)
class Part:
    """`step` runs to its end or leaves work on the GPU; `span_ms` is asked once that is done."""

    name: str
    step: Callable[[], object]
    span_ms: Callable[[], float] | None = None
    span_of: str = ""  # graph: events inside it; replay: around its launch; step: around the whole
    marked: bool = False  # the step opens its own mark


def add_switches(parser: argparse.ArgumentParser) -> None:
    """The switches that every workload has."""
    parser.add_argument("--steps", type=int, default=40, help="steps to time, for each part")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before them")
    parser.add_argument("--torch-profiler", type=Path, metavar="FILE", help="record with torch.profiler into FILE")


def run_steps(workload: str, parts: list[Part], given: argparse.Namespace, first: int = 0) -> None:
    """Time all parts one after the other and print one line; steps are numbered through, from `first` on."""
    for part in parts:
        for _ in range(given.warm_up):
            part.step()
    settle()
    rows: list[dict[str, Any]] = []
    with _profiler(given.torch_profiler) as profile:
        for part in parts:
            rows.append(_timed(part, first, given.steps))
            first += given.steps
    if profile is not None:
        profile.export_chrome_trace(str(given.torch_profiler))
    print(json.dumps({"workload": workload, "parts": rows}), flush=True)


def settle() -> None:
    """Wait for the GPU."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _timed(part: Part, first: int, count: int) -> dict[str, Any]:
    walls: list[float] = []
    spans: list[float] = []
    for n in range(first, first + count):
        start = time.perf_counter()
        with NOTHING if part.marked else mark(marks.step(n)):
            part.step()
            settle()
        walls.append((time.perf_counter() - start) * 1e3)
        if part.span_ms is not None:
            spans.append(part.span_ms())
    head = {"name": part.name, "first": first, "steps": count, "wall_ms": walls}
    return {**head, "span_ms": spans, "span_of": part.span_of}


def _profiler(file: Path | None) -> Any:
    if file is None:
        return nullcontext()
    from torch.profiler import ProfilerActivity, profile

    cuda = [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
    return profile(activities=[ProfilerActivity.CPU, *cuda])
