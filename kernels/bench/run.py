"""Measures every case and says what came of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.bench.attention import attention_cases, mixing_cases
from stepprof.kernels.bench.case import Bench, Case
from stepprof.kernels.bench.mixture import acceptance_cases, mixture_cases
from stepprof.kernels.bench.timing import copy_microseconds, microseconds, sets_needed
from stepprof.kernels.shapes import PRESETS


class NoGpu(Exception):
    """Nothing to measure on."""


def add_switches(parser: argparse.ArgumentParser) -> None:
    """The switches of `bench kernels`."""
    presets = [shapes.name for shapes in PRESETS]
    parser.add_argument("--preset", choices=presets, default="flash", help="whose sizes (default: flash)")
    parser.add_argument("--rows", type=_numbers, default=(1, 6), help="rows of a step, with commas (default: 1,6)")
    parser.add_argument("--ops", type=lambda text: tuple(text.split(",")), default=(), help="parts of op names")
    parser.add_argument("--costs", type=Path, help="write op costs of the last rows here (JSON lines)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if not all(n >= 1 for n in numbers):
        raise argparse.ArgumentTypeError(f"{text}: rows must be at least 1")
    return numbers


def cases(bench: Bench) -> list[Case]:
    """All of them."""
    return [*mixing_cases(bench), *attention_cases(bench), *mixture_cases(bench), *acceptance_cases(bench)]


def bench_kernels(
    preset: str, rows: Sequence[int], ops: Sequence[str] = (), costs: Path | None = None
) -> dict[str, Any]:
    """One JSON document; costs go to a file as well."""
    if not torch.cuda.is_available():
        raise NoGpu("bench kernels needs an NVIDIA GPU, and torch sees none here.")
    device = torch.device("cuda", torch.cuda.current_device())
    shapes = next(one for one in PRESETS if one.name == preset)
    results: list[dict[str, Any]] = []
    for count in rows:
        for case in cases(Bench(shapes, count, device)):
            if not ops or any(word in case.op for word in ops):
                results.append({"rows": count, **_measured(case, device)})
                torch.cuda.empty_cache()
    if costs is not None:
        costs.write_text("".join(json.dumps(line) + "\n" for line in _costs(results, rows[-1])))
    properties = torch.cuda.get_device_properties(device)
    head = {"preset": preset, "device": properties.name, "l2_bytes": properties.L2_cache_size}
    return {**head, "bytes_source": "counted", "kernels": results}


def _measured(case: Case, device: torch.device) -> dict[str, Any]:
    first = case.make(0)
    read, written = first.bytes_read, first.bytes_written(first())
    count = sets_needed(read + written, device)
    with torch.no_grad():
        taken = microseconds([first, *(case.make(i) for i in range(1, count))])
    copied = copy_microseconds(read + written, device)
    return {
        "op": case.op,
        "kernel": case.kernel,
        "time_us": {"value": taken, "kind": "measured"},
        "copy_us": {"value": copied, "kind": "measured"},
        "share_of_copy": {"value": copied / taken, "kind": "measured"},
        "gb_per_s": {"value": (read + written) / taken / 1e3, "kind": "measured"},
        "bytes_read": read,
        "bytes_written": written,
        "flops": first.flops,
        "rotated_bytes": count * (read + written),
    }


def _costs(results: Sequence[dict[str, Any]], rows: int) -> list[dict[str, Any]]:
    """Lines for `stepprof import --costs`, one a kernel name: the first op that has it."""
    lines: dict[str, dict[str, Any]] = {}
    for one in results:
        if one["rows"] == rows:
            figures = {key: one[key] for key in ("bytes_read", "bytes_written", "flops")}
            lines.setdefault(one["kernel"], {"label": one["kernel"], **figures, "source": "counted"})
    return list(lines.values())


def show(document: dict[str, Any]) -> None:
    """One line an op and size."""
    print(f"{document['preset']} on {document['device']}; bytes are counted, times measured")
    for one in document["kernels"]:
        share, bandwidth = one["share_of_copy"]["value"], one["gb_per_s"]["value"]
        print(
            f"{one['op']:36s}{one['rows']:4d} rows {one['time_us']['value']:9.2f} µs "
            f"{bandwidth:8.1f} GB/s {share:7.1%} of a copy ({one['copy_us']['value']:.2f} µs)"
        )
