"""KV compression for the GPU: one program for a block of channels of one row, two passes over its group."""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two

BACKEND = "triton"
BLOCK = 256  # channels of a program


def pool(raw: torch.Tensor, bias: torch.Tensor, sequences: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """raw [B, L, 2·Dh], bias [r, Dh] -> [T, Dh]"""
    ratio, width = bias.shape
    assert raw.is_contiguous(), f"{raw.stride()=}"
    out = torch.empty(len(positions), width, dtype=torch.float32, device=raw.device)
    block = min(BLOCK, power_of_two(width))
    grid = (-(-width // block), len(positions))
    arguments = (raw, bias, sequences, positions, out, raw.shape[1])
    launch(compress_softmax_kernel, grid, raw, *arguments, DH=width, RATIO=ratio, BLOCK=block, num_warps=1)
    return out


@triton.jit
def compress_softmax_kernel(
    raw: typing.Any,
    bias: typing.Any,
    sequences: typing.Any,
    positions: typing.Any,
    out: typing.Any,
    ring: typing.Any,
    DH: tl.constexpr,
    RATIO: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < DH
    position = tl.load(positions + row)
    first = position - position % RATIO
    start = raw + tl.load(sequences + row) * ring * (2 * DH) + at

    peak = tl.full([BLOCK], float("-inf"), tl.float32)
    for i in range(RATIO):
        score = tl.load(start + (first + i) % ring * (2 * DH) + DH, mask=inside, other=0.0).to(tl.float32)
        peak = tl.maximum(peak, score + tl.load(bias + i * DH + at, mask=inside, other=0.0))

    total, mass = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for i in range(RATIO):
        member = start + (first + i) % ring * (2 * DH)
        score = tl.load(member + DH, mask=inside, other=0.0).to(tl.float32)
        share = tl.exp(score + tl.load(bias + i * DH + at, mask=inside, other=0.0) - peak)
        total += share * tl.load(member, mask=inside, other=0.0).to(tl.float32)
        mass += share
    tl.store(out + row.to(tl.int64) * DH + at, total / mass, mask=inside)
