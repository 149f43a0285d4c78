"""Measures every kind of chain and says what came of it: the document that `stepprof whatif --nodes` takes."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import torch

from stepprof.kernels.bench.nodes.chain import SMALL, Card, Chain, Mode, Shape
from stepprof.kernels.bench.nodes.figures import Repeat, Stamped, row_figures, stamped
from stepprof.kernels.bench.nodes.timing import Starved
from stepprof.kernels.bench.run import NoGpu

KERNELS = {"empty": "empty", "small": f"{SMALL // 1024}k", "gemv": "gemv"}  # kernel of chains.cu -> name in the rows
BRANCHES = (1, 4)
# nodes of a branch -> units of work a node, so that the work of a branch is the same
CHAINS: dict[str, dict[int, int]] = {"graph": {1200: 1, 600: 2, 400: 3}, "stream": {360: 1, 180: 2, 120: 3}}
STAMPED = 240  # nodes of a branch whose blocks keep the time
SAMPLES = 5
DEFINITIONS = {
    "node_cost_us": "wall saved per node removed from a branch while its work stays; with 4 branches one node of each",
    "visible_gap_us": "from the last block's end to the next node's first block, by the global timer in the kernels",
    "ramp_us": "node cost less visible gap",
    "interval": "95 % t interval over the repeats of one process",
}


def add_node_switches(parser: argparse.ArgumentParser) -> None:
    """The switches of `bench nodes`."""
    parser.add_argument("--repeats", type=_repeats, default=10, help="repeats of each chain (default: 10)")
    parser.add_argument("-o", "--out", type=Path, help="write the document here, for stepprof whatif --nodes")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _repeats(text: str) -> int:
    if (count := int(text)) < 2:
        raise argparse.ArgumentTypeError(f"{count}: an interval needs at least 2 repeats")
    return count


def bench_nodes(repeats: int, out: Path | None = None) -> dict[str, Any]:
    """One JSON document, written to `out` too; NoGpu where there is nothing to measure on."""
    if not torch.cuda.is_available():
        raise NoGpu("bench nodes needs an NVIDIA GPU, and torch sees none here.")
    device = torch.device("cuda", torch.cuda.current_device())
    card, modes, notes = Card(device), list[Mode](get_args(Mode)), list[str]()
    if torch.cuda.get_device_capability(device) < (9, 0):
        modes.remove("graph_pdl")
        notes.append("graph_pdl: programmatic dependent launch needs compute capability 9.0 or newer")
    steps = card.timer_steps()
    rows = [
        row
        for kernel in KERNELS
        for mode in modes
        for branches in BRANCHES
        if (row := measured_row(lambda *given: _chain(card, *given), kernel, mode, branches, repeats, notes))
    ]
    timer = {"globaltimer_ns": {"smallest": min(steps), "median": statistics.median(steps), "kind": "measured"}}
    command = f"stepprof bench nodes --repeats {repeats}"
    document = {
        **_machine(device),
        "command": command,
        **timer,
        "definitions": DEFINITIONS,
        "rows": rows,
        "notes": notes,
    }
    if out is not None:
        write_whole(out, json.dumps(document, indent=1) + "\n")
    return document


def measured_row(
    make: Callable[[Shape, bool], Chain], kernel: str, mode: Mode, branches: int, repeats: int, notes: list[str]
) -> dict[str, Any] | None:
    """One row; None, and a note, where the host was too slow to queue the chain."""
    lengths = CHAINS["stream" if mode == "stream" else "graph"]
    chains = {n: make(Shape(kernel, mode, branches, n, units), False) for n, units in lengths.items()}
    stamping = make(Shape(kernel, mode, branches, STAMPED, 1), True)
    try:
        for chain in (*chains.values(), stamping):
            chain.run()  # warm-up
        found = [_repeat(chains, stamping) for _ in range(repeats)]
        head = {"kernel": KERNELS[kernel], "mode": mode, "branches": branches}
        tail: dict[str, Any] = {"nodes": list(lengths), "units": list(lengths.values())}
        if mode == "graph_pdl":
            tail["edges"], tail["programmatic_edges"] = stamping.edges()
            if not tail["programmatic_edges"]:
                notes.append(
                    f"{KERNELS[kernel]}, graph_pdl, {branches} branches: this driver made no programmatic edge"
                )
        return {**head, **row_figures(found), **tail}
    except Starved as fault:
        notes.append(f"{KERNELS[kernel]}, {mode}, {branches} branches: {fault}")
        return None
    finally:
        for chain in (*chains.values(), stamping):
            chain.close()


def _repeat(chains: dict[int, Chain], stamping: Chain) -> Repeat:
    """Lengths in turn, so that a drift of clocks meets all of them."""
    samples = [{length: chain.run() for length, chain in chains.items()} for _ in range(SAMPLES)]
    walls = {length: statistics.median(one[length] for one in samples) for length in chains}
    stamping.run()
    return Repeat(walls, _stamps_of(stamping))


def _stamps_of(chain: Chain) -> Stamped:
    return stamped(chain.stamps())


def _chain(card: Card, shape: Shape, stamps: bool) -> Chain:
    programmatic = shape.mode == "graph_pdl"
    kernel = card.kernel(f"{shape.kernel}_node", programmatic, stamps)
    return Chain(card, shape, kernel, card.kernel("empty_node"), stamps)


def _machine(device: torch.device) -> dict[str, Any]:
    versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda}
    name = torch.cuda.get_device_properties(device).name
    return {"gpu": name, "driver": _driver(), "versions": versions, "date": datetime.now(UTC).strftime("%Y-%m-%d")}


def _driver() -> str | None:
    """Version of the driver, None where NVML does not tell."""
    import pynvml  # here, so that importing this module asks nothing

    try:
        pynvml.nvmlInit()
        version: str | bytes = pynvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError:
        return None
    return version.decode() if isinstance(version, bytes) else version


def write_whole(path: Path, text: str) -> None:
    """The file whole or not at all; OSError where it cannot be written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def show_nodes(document: dict[str, Any]) -> None:
    """One line a row."""
    print(f"{document['gpu']}, driver {document['driver']}, {document['date']}; µs a node, measured, 95 % intervals")
    for row in document["rows"]:
        figures = [
            f"{name} {row[key]['value']:6.3f} ±{(row[key]['high'] - row[key]['low']) / 2:.3f}"
            for name, key in (("cost", "node_cost_us"), ("gap", "visible_gap_us"), ("ramp", "ramp_us"))
        ]
        print(f"{row['kernel']:6}{row['mode']:10}×{row['branches']}  {'  '.join(figures)}")
    for note in document["notes"]:
        print(f"left out: {note}")
