"""Norm, rope and cache write before attention, fused: one program a query head, one more for the row's latent."""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import flat_rows, launch, power_of_two, warps
from stepprof.kernels.rope.kernel import normed_turned

BACKEND = "triton"


def latent_insert(
    latent: torch.Tensor,
    weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    eps: float,
) -> None:
    """latent [T, Dh] -> rows of window [B, W, Dh]"""
    assert window.is_contiguous(), f"{window.stride()=}"
    rows, stride = flat_rows(latent)
    arguments = (rows, weight, table, positions, sequences, window, stride, window.shape[1], eps)
    sizes = {"DH": rows.shape[1], "R": table.shape[1], "BLOCK": power_of_two(rows.shape[1])}
    launch(latent_norm_rope_insert_kernel, (len(rows),), rows, *arguments, **sizes, num_warps=warps(sizes["BLOCK"]))


def attn_front(
    q: torch.Tensor,
    latent: torch.Tensor,
    latent_weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """q [T, H, Dh], latent [T, Dh] -> [T, H, Dh]; writes window [B, W, Dh]"""
    count, heads, width = q.shape
    assert q.is_contiguous() and window.is_contiguous(), f"{q.stride()=} {window.stride()=}"
    rows, stride = flat_rows(latent)
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    arguments = (q, rows, latent_weight, table, positions, sequences, window, out, stride, window.shape[1], eps)
    sizes = {"H": heads, "DH": width, "R": table.shape[1], "BLOCK": power_of_two(width)}
    launch(norm_rope_insert_kernel, (heads + 1, count), q, *arguments, **sizes, num_warps=warps(sizes["BLOCK"]))
    return out


@triton.jit
def norm_rope_insert_kernel(
    q: typing.Any,
    latent: typing.Any,
    latent_weight: typing.Any,
    table: typing.Any,
    positions: typing.Any,
    sequences: typing.Any,
    window: typing.Any,
    out: typing.Any,
    stride: typing.Any,
    ring: typing.Any,
    eps: typing.Any,
    H: tl.constexpr,
    DH: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    head, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    position = tl.load(positions + row)
    at = tl.arange(0, BLOCK)
    if head < H:
        start = (row * H + head) * DH
        value = normed_turned(q + start, None, table, position, eps, DH, R, BLOCK)
        tl.store(out + start + at, value, mask=at < DH)
    else:
        _insert(latent + row * stride, latent_weight, table, position, sequences + row, window, ring, eps, DH, R, BLOCK)


@triton.jit
def latent_norm_rope_insert_kernel(
    latent: typing.Any,
    weight: typing.Any,
    table: typing.Any,
    positions: typing.Any,
    sequences: typing.Any,
    window: typing.Any,
    stride: typing.Any,
    ring: typing.Any,
    eps: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + row)
    _insert(latent + row * stride, weight, table, position, sequences + row, window, ring, eps, DH, R, BLOCK)


@triton.jit
def _insert(
    latent: typing.Any,
    weight: typing.Any,
    table: typing.Any,
    position: typing.Any,
    sequence: typing.Any,
    window: typing.Any,
    ring: typing.Any,
    eps: typing.Any,
    DH: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Norm and turn one latent and write it into its sequence's ring."""
    at = tl.arange(0, BLOCK)
    value = normed_turned(latent, weight, table, position, eps, DH, R, BLOCK)
    place = tl.load(sequence) * ring + position % ring
    tl.store(window + place * DH + at, value, mask=at < DH)
