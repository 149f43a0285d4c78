"""Rotary positions for the GPU; `rotated` and `normed_turned` also serve the fused kernels around attention."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportArgumentType=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two, warps

BACKEND = "triton"
BLOCK = 1024  # elements of a program


def rope(x: torch.Tensor, table: torch.Tensor, positions: torch.Tensor, inverse: bool) -> torch.Tensor:
    """x [T, H, Dh], table [L, R], positions [T] -> [T, H, Dh]"""
    count, heads, width = x.shape
    assert x.stride(2) == 1 or width == 1, f"{x.stride()=}"
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = min(BLOCK, power_of_two(heads * width))
    grid = (-(-heads * width // block), count)
    arguments = (x, table, positions, out, x.stride(0), x.stride(1), heads * width)
    launch(rope_kernel, grid, x, *arguments, DH=width, R=table.shape[1], INVERSE=inverse, BLOCK=block, num_warps=4)
    return out


def norm_rope(
    x: torch.Tensor, weight: torch.Tensor | None, table: torch.Tensor, positions: torch.Tensor, eps: float
) -> torch.Tensor:
    """x [T, H, Dh] -> [T, H, Dh]"""
    count, heads, width = x.shape
    assert x.stride(2) == 1 or width == 1, f"{x.stride()=}"
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    arguments = (x, weight, table, positions, out, x.stride(0), x.stride(1), eps)
    sizes = {"DH": width, "R": table.shape[1], "BLOCK": power_of_two(width)}
    launch(norm_rope_kernel, (heads, count), x, *arguments, **sizes, num_warps=warps(sizes["BLOCK"]))
    return out


@triton.jit
def partner(at: typing.Any, DH: tl.constexpr, R: tl.constexpr):
    """The other half of the pair that channel `at` turns with; only meant for the last R channels."""
    return (DH - R) + ((at - (DH - R)) ^ 1)


@triton.jit
def rotated(
    value: typing.Any,
    other: typing.Any,
    table: typing.Any,
    position: typing.Any,
    at: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    INVERSE: tl.constexpr,
):
    """Channels `at` of a head, `value` float32, turned; `other` holds the values of their partners."""
    turns = (at >= DH - R) & (at < DH)
    place = at - (DH - R)
    angle = table + position * R + (place >> 1)
    cos = tl.load(angle, mask=turns, other=1.0)
    sin = tl.load(angle + R // 2, mask=turns, other=0.0)
    if INVERSE:
        sin = -sin
    return value * cos + tl.where(place % 2 == 0, -other, other) * sin


@triton.jit
def rope_kernel(
    x: typing.Any,
    table: typing.Any,
    positions: typing.Any,
    out: typing.Any,
    row_stride: typing.Any,
    head_stride: typing.Any,
    size: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    INVERSE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = flat < size
    head, at = flat // DH, flat % DH
    start = x + row * row_stride + head * head_stride
    value = tl.load(start + at, mask=inside, other=0.0).to(tl.float32)
    other = tl.load(start + partner(at, DH, R), mask=inside & (at >= DH - R), other=0.0).to(tl.float32)
    position = tl.load(positions + row)
    result = rotated(value, other, table, position, at, DH, R, INVERSE)
    tl.store(out + row * size + flat, result, mask=inside)


@triton.jit
def normed_turned(
    x: typing.Any,
    weight: typing.Any,
    table: typing.Any,
    position: typing.Any,
    eps: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One head that starts at x, normed and turned: [BLOCK] float32."""
    at = tl.arange(0, BLOCK)
    other_at, turns = partner(at, DH, R), (at >= DH - R) & (at < DH)
    value = tl.load(x + at, mask=at < DH, other=0.0).to(tl.float32)
    other = tl.load(x + other_at, mask=turns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / DH + eps)
    if weight is not None:
        value *= tl.load(weight + at, mask=at < DH, other=0.0).to(tl.float32)
        other *= tl.load(weight + other_at, mask=turns, other=0.0).to(tl.float32)
    return rotated(value * scale, other * scale, table, position, at, DH, R, False)


@triton.jit
def norm_rope_kernel(
    x: typing.Any,
    weight: typing.Any,
    table: typing.Any,
    positions: typing.Any,
    out: typing.Any,
    row_stride: typing.Any,
    head_stride: typing.Any,
    eps: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    head, row, at = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.arange(0, BLOCK)
    start = x + row * row_stride + head * head_stride
    value = normed_turned(start, weight, table, tl.load(positions + row), eps, DH, R, BLOCK)
    tl.store(out + (row * tl.num_programs(0) + head) * DH + at, value, mask=at < DH)
