"""Starts Triton kernels: `launch(kernel, (rows,), x, *arguments, BLOCK=power_of_two(width), num_warps=4)`.

Kernels make no host synchronisation and allocate only their results, through torch, so a launch may be captured in a
CUDA graph; the first launch of a kernel compiles it and must come before the capture.
"""

from contextlib import nullcontext
from functools import cache
from typing import Any

import torch


def launch(kernel: Any, grid: tuple[int, ...], like: torch.Tensor, *arguments: Any, **meta: Any) -> None:
    """Run `kernel` on the device of `like`, in its current stream; an empty grid runs nothing."""
    if 0 in grid:
        return
    with torch.cuda.device(like.device) if like.is_cuda else nullcontext():
        kernel[grid](*arguments, **meta)


def power_of_two(n: int, least: int = 1) -> int:
    """The smallest power of two that is at least n and `least`."""
    return max(least, 1 << max(0, n - 1).bit_length())


def warps(elements: int) -> int:
    """Warps of a program that holds so many elements at a time."""
    return max(1, min(16, elements // 256))


def multiprocessors(x: torch.Tensor) -> int:
    """Multiprocessors of x's device; 4 stand in for them on the CPU."""
    return _multiprocessors(x.device) if x.is_cuda else 4


@cache
def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def tickets(op: str, count: int, like: torch.Tensor) -> torch.Tensor:
    """At least `count` int32 counters that kernels of `op` leave at 0: one such kernel at a time on a device.

    They outlive the call, so the first call with so many must not lie in a graph capture.
    """
    size = power_of_two(count, 256)
    return _tickets(op, size, like.device)


@cache
def _tickets(op: str, size: int, device: torch.device) -> torch.Tensor:
    assert not (device.type == "cuda" and torch.cuda.is_current_stream_capturing()), f"run {op} before its capture"
    return torch.zeros(size, dtype=torch.int32, device=device)


def flat_rows(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    """x [..., D] as rows [R, D], and the distance between rows in elements; the last dimension is contiguous."""
    rows = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    assert rows.stride(1) == 1 or rows.shape[1] == 1, f"{x.shape=} {x.stride()=}"
    return rows, rows.stride(0)
