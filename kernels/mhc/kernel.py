"""Hyper-connections for the GPU, one kernel a function; `boundary` lies in fused.py."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two, warps
from stepprof.kernels.mhc.fused import boundary
from stepprof.kernels.mhc.tiles import store_normed, store_post_weights

__all__ = ["boundary", "mix_logits", "post_mix", "post_weights", "pre", "pre_norm"]
BACKEND = "triton"


def mix_logits(streams: torch.Tensor, fn: torch.Tensor, eps: float) -> torch.Tensor:
    """streams [T, S, D], fn [S·(S+2), S·D] -> [T, S·(S+2)]"""
    assert streams.is_contiguous() and fn.is_contiguous(), f"{streams.stride()=} {fn.stride()=}"
    outputs, width = fn.shape
    logits = torch.empty(len(streams), outputs, dtype=torch.float32, device=streams.device)
    block = min(2048, power_of_two(width))
    grid = (outputs, len(streams))
    launch(
        mhc_logits_gemm_kernel,
        grid,
        streams,
        streams,
        fn,
        logits,
        eps,
        WIDTH=width,
        BLOCK=block,
        num_warps=warps(block),
    )
    return logits


def pre_norm(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """streams [T, S, D], logits [T, S·(S+2)] -> [T, D]"""
    count, number, width = streams.shape
    assert streams.is_contiguous(), f"{streams.stride()=}"
    x = torch.empty(count, width, dtype=streams.dtype, device=streams.device)
    block = power_of_two(width)
    arguments = (streams, logits, scale, base, weight, x, eps)
    launch(mhc_rms_norm_kernel, (count,), streams, *arguments, S=number, D=width, BLOCK=block, num_warps=warps(block))
    return x


def post_weights(
    logits: torch.Tensor, scale: torch.Tensor, base: torch.Tensor, iterations: int, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """logits [T, S·(S+2)] -> post [T, S], comb [T, S, S]"""
    number = int((logits.shape[1] + 1) ** 0.5) - 1  # S·(S+2) + 1 = (S+1)²
    post = torch.empty(len(logits), number, dtype=torch.float32, device=logits.device)
    comb = torch.empty(len(logits), number, number, dtype=torch.float32, device=logits.device)
    sizes = {"ITERATIONS": iterations, "S": number, "S_BLOCK": power_of_two(number)}
    launch(mhc_post_weights_kernel, (len(logits),), logits, logits, scale, base, post, comb, eps, **sizes, num_warps=1)
    return post, comb


def pre(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    iterations: int,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """-> x [T, D], post [T, S], comb [T, S, S]"""
    count, number, width = streams.shape
    assert streams.is_contiguous(), f"{streams.stride()=}"
    x = torch.empty(count, width, dtype=streams.dtype, device=streams.device)
    post = torch.empty(count, number, dtype=torch.float32, device=streams.device)
    comb = torch.empty(count, number, number, dtype=torch.float32, device=streams.device)
    arguments = (streams, logits, scale, base, weight, x, post, comb, eps)
    sizes = {"ITERATIONS": iterations, "S": number, "S_BLOCK": power_of_two(number), "D": width}
    launch(
        mhc_pre_rms_norm_kernel,
        (count, 2),
        streams,
        *arguments,
        **sizes,
        BLOCK=power_of_two(width),
        num_warps=warps(power_of_two(width)),
    )
    return x, post, comb


def post_mix(streams: torch.Tensor, out: torch.Tensor, post: torch.Tensor, comb: torch.Tensor) -> torch.Tensor:
    """streams [T, S, D], out [T, D], post [T, S], comb [T, S, S] -> [T, S, D]"""
    count, number, width = streams.shape
    assert streams.is_contiguous() and out.is_contiguous(), f"{streams.stride()=} {out.stride()=}"
    new = torch.empty(streams.shape, dtype=streams.dtype, device=streams.device)
    block = min(512, power_of_two(width))
    grid = (-(-width // block), count)
    launch(
        mhc_post_mix_kernel, grid, streams, streams, out, post, comb, new, S=number, D=width, BLOCK=block, num_warps=2
    )
    return new


@triton.jit
def mhc_logits_gemm_kernel(
    streams: typing.Any, fn: typing.Any, logits: typing.Any, eps: typing.Any, WIDTH: tl.constexpr, BLOCK: tl.constexpr
):
    output, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    dot, square = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    for start in tl.static_range(0, WIDTH, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(streams + row * WIDTH + at, mask=at < WIDTH, other=0.0).to(tl.float32)
        dot += value * tl.load(fn + output * WIDTH + at, mask=at < WIDTH, other=0.0)
        square += value * value
    scaled = tl.sum(dot, 0) * tl.rsqrt(tl.sum(square, 0) / WIDTH + eps)
    tl.store(logits + row * tl.num_programs(0) + output, scaled)


@triton.jit
def mhc_rms_norm_kernel(
    streams: typing.Any,
    logits: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    weight: typing.Any,
    x: typing.Any,
    eps: typing.Any,
    S: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    store_normed(streams, logits, scale, base, weight, x, row, eps, S, D, BLOCK)


@triton.jit
def mhc_post_weights_kernel(
    logits: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    eps: typing.Any,
    ITERATIONS: tl.constexpr,
    S: tl.constexpr,
    S_BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    store_post_weights(logits, scale, base, post, comb, row, eps, ITERATIONS, S, S_BLOCK)


@triton.jit
def mhc_pre_rms_norm_kernel(
    streams: typing.Any,
    logits: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    weight: typing.Any,
    x: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    eps: typing.Any,
    ITERATIONS: tl.constexpr,
    S: tl.constexpr,
    S_BLOCK: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    if tl.program_id(1) == 0:
        store_normed(streams, logits, scale, base, weight, x, row, eps, S, D, BLOCK)
    else:
        store_post_weights(logits, scale, base, post, comb, row, eps, ITERATIONS, S, S_BLOCK)


@triton.jit
def mhc_post_mix_kernel(
    streams: typing.Any,
    out: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    new: typing.Any,
    S: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < D
    answer = tl.load(out + row * D + at, mask=inside, other=0.0).to(tl.float32)
    for j in tl.static_range(S):
        value = tl.load(post + row * S + j) * answer
        for i in tl.static_range(S):
            old = tl.load(streams + (row * S + i) * D + at, mask=inside, other=0.0).to(tl.float32)
            value += tl.load(comb + (row * S + i) * S + j) * old
        tl.store(new + (row * S + j) * D + at, value, mask=inside)
