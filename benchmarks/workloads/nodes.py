"""The chains of `bench nodes` on one branch, as marked steps: what a tracer makes of their gaps."""

from __future__ import annotations

import argparse
import sys

import torch
from steps import Part, add_switches, run_steps

from stepprof.kernels.bench.nodes.chain import Card, Chain, Mode, Shape
from stepprof.kernels.bench.nodes.run import KERNELS

LENGTH = 240


def part(card: Card, kernel: str, mode: Mode) -> Part:
    """A chain without stamps; a step is one run of it, its hold included."""
    made = card.kernel(f"{kernel}_node", mode == "graph_pdl")
    chain = Chain(card, Shape(kernel, mode, 1, LENGTH, 1), made, card.kernel("empty_node"))
    return Part(f"{KERNELS[kernel]} {mode}", chain.run)


def main() -> None:
    """Make all chains that this GPU can run, time them."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_switches(parser)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("chains need an NVIDIA GPU, and torch sees none here.")
    card = Card(torch.device("cuda", torch.cuda.current_device()))
    modes: list[Mode] = ["stream", "graph"]
    if torch.cuda.get_device_capability() >= (9, 0):
        modes.append("graph_pdl")
    run_steps("nodes", [part(card, kernel, mode) for kernel in KERNELS for mode in modes], given)


if __name__ == "__main__":
    main()
