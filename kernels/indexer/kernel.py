"""Sparse index for the GPU: scores by tiles of the cache, the best K in topk.py, tables row by row."""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.indexer.topk import top_k
from stepprof.kernels.launch import launch, power_of_two

__all__ = ["build_table", "index_logits", "top_k"]
BACKEND = "triton"
KEYS = 64  # cache rows of a program


def index_logits(
    q: torch.Tensor, keys: torch.Tensor, weights: torch.Tensor, sequences: torch.Tensor, visible: torch.Tensor
) -> torch.Tensor:
    """q [T, Hi, Di], keys [B, C, Di], weights [T, Hi] -> [T, C]"""
    count, heads, width = q.shape
    assert q.is_contiguous() and keys.is_contiguous() and weights.is_contiguous(), f"{q.stride()=} {keys.stride()=}"
    logits = torch.empty(count, keys.shape[1], dtype=torch.float32, device=q.device)
    grid = (-(-keys.shape[1] // KEYS), count)
    arguments = (q, keys, weights, sequences, visible, logits, keys.shape[1])
    sizes = {"H": heads, "DI": width, "H_BLOCK": power_of_two(heads, 16), "D_BLOCK": power_of_two(width, 16)}
    launch(index_logits_gemm_kernel, grid, q, *arguments, **sizes, KEYS=KEYS, num_warps=4)
    return logits


def build_table(chosen: torch.Tensor, sequences: torch.Tensor, capacity: int) -> torch.Tensor:
    """[T, K] -> [T, K]"""
    table = torch.empty(chosen.shape, dtype=torch.int32, device=chosen.device)
    count, width = chosen.shape
    arguments = (chosen, sequences, table, capacity)
    launch(
        index_table_elementwise_kernel, (count,), chosen, *arguments, K=width, K_BLOCK=power_of_two(width), num_warps=4
    )
    return table


@triton.jit
def index_logits_gemm_kernel(
    q: typing.Any,
    keys: typing.Any,
    weights: typing.Any,
    sequences: typing.Any,
    visible: typing.Any,
    logits: typing.Any,
    capacity: typing.Any,
    H: tl.constexpr,
    DI: tl.constexpr,
    H_BLOCK: tl.constexpr,
    D_BLOCK: tl.constexpr,
    KEYS: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    start = tl.program_id(0) * KEYS
    at = start + tl.arange(0, KEYS)
    seen = tl.load(visible + row)
    scores = tl.full([KEYS], float("-inf"), tl.float32)
    if start < seen:  # rows that nobody may see are not read
        d, head = tl.arange(0, D_BLOCK), tl.arange(0, H_BLOCK)
        first = keys + tl.load(sequences + row) * capacity * DI
        mask = (at < seen) & (at < capacity)
        key = tl.load(first + at[:, None] * DI + d[None, :], mask=mask[:, None] & (d < DI)[None, :], other=0.0)
        query = tl.load(
            q + (row * H + head[None, :]) * DI + d[:, None], mask=(head < H)[None, :] & (d < DI)[:, None], other=0.0
        )  # [D_BLOCK, H_BLOCK]
        dots = tl.maximum(tl.dot(key, query, input_precision="ieee"), 0.0)  # [KEYS, H_BLOCK]
        weight = tl.load(weights + row * H + head, mask=head < H, other=0.0).to(tl.float32)
        scores = tl.where(mask, tl.sum(dots * weight[None, :], 1), float("-inf"))
    tl.store(logits + row * capacity + at, scores, mask=at < capacity)


@triton.jit
def index_table_elementwise_kernel(
    chosen: typing.Any,
    sequences: typing.Any,
    table: typing.Any,
    capacity: typing.Any,
    K: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, K_BLOCK)
    entry = tl.load(chosen + row * K + at, mask=at < K, other=-1)
    flat = (entry + tl.load(sequences + row) * capacity).to(tl.int32)
    tl.store(table + row * K + at, tl.where(entry >= 0, flat, -1), mask=at < K)
