"""Measures every case and says what came of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from stepprof.kernels.bench.case import Bench, Case
from stepprof.kernels.bench.cases import add_case_switches, chosen_cases
from stepprof.kernels.bench.dram import Dram, How, dram_bytes
from stepprof.kernels.bench.timing import copy_microseconds, microseconds, sets_needed
from stepprof.kernels.shapes import shapes_of


class NoGpu(Exception):
    """Nothing to measure on."""


def add_switches(parser: argparse.ArgumentParser) -> None:
    """The switches of `bench kernels`."""
    add_case_switches(parser)
    parser.add_argument("--costs", type=Path, help="write op costs of the last rows here (JSON lines)")
    words = "DRAM bytes by nsight-python, else ncu, else counted (auto), or by one of them only, or counted (off)"
    parser.add_argument("--dram", choices=get_args(How), default="auto", help=words)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def bench_kernels(
    preset: str, rows: Sequence[int], ops: Sequence[str] = (), costs: Path | None = None, dram: How = "auto"
) -> dict[str, Any]:
    """One JSON document; costs go to a file as well.

    Times and bandwidths are of the bytes counted from the shapes; `dram` beside them is what reached memory.
    """
    if not torch.cuda.is_available():
        raise NoGpu("bench kernels needs an NVIDIA GPU, and torch sees none here.")
    device = torch.device("cuda", torch.cuda.current_device())
    shapes = shapes_of(preset)
    results: list[dict[str, Any]] = []
    for count in rows:
        for case in chosen_cases(Bench(shapes, count, device), ops):
            results.append({"rows": count, **_measured(case, device)})
            torch.cuda.empty_cache()
    found = dram_bytes(preset, rows, ops, dram)  # in a process of its own, once these times are taken
    for one in results:
        one["dram"] = _dram(one, found)
    if costs is not None:
        costs.write_text("".join(json.dumps(line) + "\n" for line in _costs(results, rows[-1])))
    properties = torch.cuda.get_device_properties(device)
    head = {"preset": preset, "device": properties.name, "l2_bytes": properties.L2_cache_size}
    return {**head, "bytes_source": "counted", "dram_source": found.source, "notes": [found.note], "kernels": results}


def _dram(one: dict[str, Any], found: Dram) -> dict[str, Any]:
    """Bytes that an op moved to and from memory, and whether they are measured."""
    if (pair := found.bytes.get((one["rows"], one["op"]))) is None:
        return {"bytes_read": one["bytes_read"], "bytes_written": one["bytes_written"], "source": "counted"}
    return {"bytes_read": pair[0], "bytes_written": pair[1], "source": "measured"}


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
            lines.setdefault(one["kernel"], {"label": one["kernel"], "flops": one["flops"], **one["dram"]})
    return list(lines.values())


def show(document: dict[str, Any]) -> None:
    """Two lines an op and size."""
    print(f"{document['preset']} on {document['device']}; GB/s are of counted bytes, times measured")
    for one in document["kernels"]:
        share, bandwidth, dram = one["share_of_copy"]["value"], one["gb_per_s"]["value"], one["dram"]
        moved = f"{dram['bytes_read']:,} + {dram['bytes_written']:,} B ({dram['source']})"
        print(
            f"{one['op']:28s}{one['rows']:3d} rows{one['time_us']['value']:9.2f} µs{bandwidth:8.1f} GB/s"
            f"{share:7.1%} of a copy\n    copy {one['copy_us']['value']:.2f} µs; DRAM {moved}"
        )
    for note in document["notes"]:
        print(note, file=sys.stderr)
