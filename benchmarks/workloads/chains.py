"""Chains of 1,000 equal kernels in one CUDA graph, by size of the kernel, and one of two parallel branches."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import torch
from steps import Part, add_switches, run_steps

COUNT = 1000
SIZES = {"1k": 1 << 10, "256k": 1 << 18, "4m": 1 << 22}  # elements that a kernel multiplies
BRANCH = 10  # kernels of a branch before the two join


def graph_part(name: str, body: Callable[[], None]) -> Part:
    """`body` captured between two events that are nodes of the graph, so that its launch is not in the span.

    The part keeps the body, whose tensors the graph works on.
    """
    stream = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True, external=True) for _ in range(2))
    with torch.cuda.stream(stream):
        body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        begin.record()
        body()
        end.record()

    def step(_tensors: Callable[[], None] = body) -> None:
        graph.replay()

    return Part(name, step, lambda: begin.elapsed_time(end), "graph")


def multiply(size: int) -> Callable[[], None]:
    """A chain of multiplications in place."""
    x = torch.randn(size, device="cuda")

    def body() -> None:
        for _ in range(COUNT):
            x.mul_(1.0001)

    return body


def gemv() -> Callable[[], None]:
    """A chain of products of 6 rows with a matrix of 2,048 columns."""
    rows = torch.randn(6, 2048, device="cuda", dtype=torch.bfloat16)
    matrix = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) * 0.02

    def body() -> None:
        x = rows
        for _ in range(COUNT):
            x = x @ matrix

    return body


def branches() -> Callable[[], None]:
    """Two branches side by side, joined after every ten kernels each."""
    x, y = (torch.randn(SIZES["256k"], device="cuda") for _ in range(2))
    side = torch.cuda.Stream()

    def body() -> None:
        main = torch.cuda.current_stream()
        for _ in range(COUNT // (2 * BRANCH)):
            side.wait_stream(main)
            with torch.cuda.stream(side):
                for _ in range(BRANCH):
                    y.mul_(1.0001)
            for _ in range(BRANCH):
                x.mul_(1.0001)
            main.wait_stream(side)

    return body


def main() -> None:
    """Make all chains, time them."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_switches(parser)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("chains need an NVIDIA GPU, and torch sees none here.")
    parts = [graph_part(name, multiply(size)) for name, size in SIZES.items()]
    parts += [graph_part("gemv", gemv()), graph_part("two branches", branches())]
    run_steps("chains", parts, given)


if __name__ == "__main__":
    main()
