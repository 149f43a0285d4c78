"""SwiGLU with limits for the GPU; `gated` also serves the expert GEMM."""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import flat_rows, launch, power_of_two

BACKEND = "triton"
BLOCK = 512  # elements of a program


def swiglu(both: torch.Tensor, limit: float) -> torch.Tensor:
    """[T, 2·I] -> [T, I]"""
    rows, stride = flat_rows(both)
    width = rows.shape[1] // 2
    out = torch.empty(len(rows), width, dtype=both.dtype, device=both.device)
    block = min(BLOCK, power_of_two(width))
    launch(
        swiglu_kernel, (-(-width // block), len(rows)), both, rows, out, stride, width, limit, BLOCK=block, num_warps=2
    )
    return out


@triton.jit
def gated(gate: typing.Any, up: typing.Any, limit: typing.Any):
    """silu(min(gate, limit)) · clamp(up, -limit, limit), all float32."""
    gate = tl.minimum(gate, limit)
    return gate / (1.0 + tl.exp(-gate)) * tl.minimum(tl.maximum(up, -limit), limit)


@triton.jit
def swiglu_kernel(
    both: typing.Any, out: typing.Any, stride: typing.Any, width: typing.Any, limit: typing.Any, BLOCK: tl.constexpr
):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    gate = tl.load(both + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * stride + width + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, gated(gate, up, limit), mask=inside)
