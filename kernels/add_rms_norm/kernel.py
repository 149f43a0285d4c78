"""Residual add and RMSNorm for the GPU: one program a row, the row in registers."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import flat_rows, launch, power_of_two, warps

BACKEND = "triton"
GROUP = 128


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """x [..., D] -> [..., D]"""
    rows, stride = flat_rows(x)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    _run(rows, stride, None, weight, out, None, eps)
    return out


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """x, residual [T, D] -> normed [T, D], sum [T, D]"""
    rows, stride = flat_rows(x)
    out, total = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    _run(rows, stride, residual, weight, out, total, eps)
    return out, total


def add_rms_norm_quant(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x, residual [T, D] -> q [T, D], scale [T, G], sum [T, D]"""
    rows, stride = flat_rows(x)
    count, width = rows.shape
    groups = -(-width // GROUP)
    q = torch.empty(count, width, dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(count, groups, dtype=torch.float32, device=x.device)
    total = torch.empty(count, width, dtype=x.dtype, device=x.device)
    arguments = (rows, residual, weight, q, scale, total, stride, residual.stride(0), eps)
    shape = {"D": width, "GROUPS": groups, "G": power_of_two(groups), "GROUP": GROUP}
    launch(rms_norm_quant_kernel, (count,), x, *arguments, **shape, num_warps=warps(shape["G"] * GROUP))
    return q, scale, total


def _run(
    rows: torch.Tensor,
    stride: int,
    residual: torch.Tensor | None,
    weight: torch.Tensor | None,
    out: torch.Tensor,
    total: torch.Tensor | None,
    eps: float,
) -> None:
    block = power_of_two(rows.shape[1])
    strides = (stride, 0 if residual is None else residual.stride(0))
    arguments = (rows, residual, weight, out, total, *strides, eps)
    launch(rms_norm_kernel, (rows.shape[0],), rows, *arguments, D=rows.shape[1], BLOCK=block, num_warps=warps(block))


@triton.jit
def rms_norm_kernel(
    x: typing.Any,
    residual: typing.Any,
    weight: typing.Any,
    out: typing.Any,
    total: typing.Any,
    stride: typing.Any,
    residual_stride: typing.Any,
    eps: typing.Any,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < D
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    if residual is not None:
        value += tl.load(residual + row * residual_stride + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(total + row * D + at, value, mask=inside)
    value *= tl.rsqrt(tl.sum(value * value, 0) / D + eps)
    if weight is not None:
        value *= tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * D + at, value, mask=inside)


@triton.jit
def rms_norm_quant_kernel(
    x: typing.Any,
    residual: typing.Any,
    weight: typing.Any,
    q: typing.Any,
    scale: typing.Any,
    total: typing.Any,
    stride: typing.Any,
    residual_stride: typing.Any,
    eps: typing.Any,
    D: tl.constexpr,
    GROUPS: tl.constexpr,
    G: tl.constexpr,
    GROUP: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    group = tl.arange(0, G)
    at = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]  # [G, 128]
    inside = at < D
    value = tl.load(x + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(residual + row * residual_stride + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(total + row * D + at, value, mask=inside)

    square = tl.sum(tl.sum(value * value, 1), 0)
    value *= tl.rsqrt(square / D + eps) * tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    peak = tl.max(tl.abs(value), 1)  # [G]
    step = tl.where(peak > 0, peak / 448.0, 1.0)
    tl.store(scale + row * GROUPS + group, step, mask=group < GROUPS)
    scaled = tl.minimum(tl.maximum(value / step[:, None], -448.0), 448.0)
    tl.store(q + row * D + at, scaled.to(tl.float8e4nv), mask=inside)
