"""The K highest scores of a row by one program: bisect the bits of the K-th score, gather, rank.

The row stays in registers while its K-th highest key is found bit by bit; rows above it, and as many equal ones as
are still needed, go to scratch memory; there each counts how many beat it, which is its place.
"""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.indexer import reference
from stepprof.kernels.launch import launch, power_of_two, warps

LONGEST = 16_384  # scores that registers hold; longer rows go through torch


def top_k(logits: torch.Tensor, k: int) -> torch.Tensor:
    """[T, C] -> [T, k]"""
    count, width = logits.shape
    if width > LONGEST:
        return reference.top_k(logits, k)
    assert logits.is_contiguous(), f"{logits.stride()=}"
    rows = torch.empty(count, k, dtype=torch.int32, device=logits.device)
    scores, found = (torch.empty(count, k, dtype=d, device=logits.device) for d in (torch.float32, torch.int32))
    sizes = {"K": k, "C_BLOCK": power_of_two(width, 32), "K_BLOCK": power_of_two(k, 32), "STEP": 32}
    launch(
        index_topk_kernel,
        (count,),
        logits,
        logits,
        scores,
        found,
        rows,
        width,
        **sizes,
        num_warps=warps(sizes["C_BLOCK"]),
    )
    return rows


@triton.jit
def index_topk_kernel(
    logits: typing.Any,
    scores: typing.Any,
    found: typing.Any,
    rows: typing.Any,
    width: typing.Any,
    K: tl.constexpr,
    C_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    held = _gather(logits + row * width, scores + row * K, found + row * K, width, K, C_BLOCK)
    tl.debug_barrier()  # the scratch rows are read by other threads than wrote them

    at = tl.arange(0, K_BLOCK)
    mine = tl.load(scores + row * K + at, mask=at < held, other=float("-inf"))
    place = tl.zeros([K_BLOCK], tl.int32)
    for start in range(0, K, STEP):
        rival = start + tl.arange(0, STEP)
        other = tl.load(scores + row * K + rival, mask=rival < held, other=float("-inf"))
        beats = (other[None, :] > mine[:, None]) | ((other[None, :] == mine[:, None]) & (rival[None, :] < at[:, None]))
        place += tl.sum(beats.to(tl.int32), 1)
    tl.store(rows + row * K + place, tl.load(found + row * K + at, mask=at < held, other=-1), mask=at < held)
    tl.store(rows + row * K + at, -1, mask=(at >= held) & (at < K))


@triton.jit
def _gather(
    logits: typing.Any, scores: typing.Any, found: typing.Any, width: typing.Any, K: tl.constexpr, C_BLOCK: tl.constexpr
):
    """Put the K best of one row into scratch, in the row's order; return how many there are."""
    at = tl.arange(0, C_BLOCK)
    logit = tl.load(logits + at, mask=at < width, other=float("-inf"))
    key = tl.where(logit > float("-inf"), _ordered(logit), 0).to(tl.uint32)
    limit = tl.full([], 0, tl.uint32)  # the K-th highest key, from its highest bit down
    for bit in range(32):
        trial = limit | (tl.full([], 1 << 31, tl.uint32) >> bit)
        limit = tl.where(tl.sum((key >= trial).to(tl.int32), 0) >= K, trial, limit)

    above, equal = key > limit, (key == limit) & (key > 0)
    # both running counts in one scan: a row is shorter than 2^15
    running = tl.cumsum(above.to(tl.int32) + (equal.to(tl.int32) << 16), 0)
    number = tl.sum(above.to(tl.int32), 0)
    place = tl.where(above, (running & 0xFFFF) - 1, number + (running >> 16) - 1)
    taken = above | (equal & (place < K))
    tl.store(scores + place, logit, mask=taken)
    tl.store(found + place, at, mask=taken)
    return tl.minimum(number + tl.sum(equal.to(tl.int32), 0), K)


@triton.jit
def _ordered(x: typing.Any):
    """A float32 as a uint32 of the same order."""
    bits = x.to(tl.int32, bitcast=True)
    return bits.to(tl.uint32, bitcast=True) ^ ((bits >> 31) | -2147483648).to(tl.uint32, bitcast=True)
