"""A known slow-down, on the CPU by the clock, on the GPU by one spinning kernel of torch."""

import time

import torch

CYCLES_PER_US = 1_700  # roughly; the Triton kernel reads the GPU's own clock instead


def pad(x: torch.Tensor, microseconds: float) -> None:
    """Take the time."""
    if x.is_cuda:
        torch.cuda._sleep(int(microseconds * CYCLES_PER_US))  # pyright: ignore[reportPrivateUsage]
        return
    until = time.perf_counter() + microseconds * 1e-6
    while time.perf_counter() < until:
        pass
