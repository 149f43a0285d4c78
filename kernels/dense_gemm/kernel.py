"""Dense GEMM of up to 16 rows on the GPU: all rows in one tile of tensor-core products, weights streamed once.

A program has block_n rows of w and one part of K. With several parts each writes float32 sums of its own, which a
second kernel adds in order, so results do not depend on which program ends first.
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false, reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.dense_gemm import MAX_ROWS, Tactic
from stepprof.kernels.launch import launch, power_of_two

BACKEND = "triton"


def linear(x: torch.Tensor, w: torch.Tensor, tactic: Tactic) -> torch.Tensor:
    """x [T, K], w [N, K] -> [T, N]"""
    (rows, depth), width, parts = x.shape, w.shape[0], tactic.split_k
    assert x.is_contiguous() and w.is_contiguous(), f"{x.stride()=} {w.stride()=}"
    out = torch.empty(rows, width, dtype=x.dtype, device=x.device)
    sums = out if parts == 1 else torch.empty(parts, rows, width, dtype=torch.float32, device=x.device)
    part = -(-depth // (parts * tactic.block_k)) * tactic.block_k
    sizes = {"N": width, "K": depth, "PART": part, "ROWS": MAX_ROWS}
    blocks = {"N_BLOCK": tactic.block_n, "K_BLOCK": tactic.block_k}
    shape = {"num_warps": tactic.warps, "num_stages": tactic.stages}
    launch(dense_gemm_kernel, (-(-width // tactic.block_n), parts), x, x, w, sums, rows, **sizes, **blocks, **shape)
    if parts > 1:
        block = min(1024, power_of_two(rows * width))
        grid = (-(-rows * width // block),)
        launch(splitk_reduce_kernel, grid, x, sums, out, rows * width, PARTS=parts, BLOCK=block, num_warps=4)
    return out


@triton.jit
def dense_gemm_kernel(
    x: typing.Any,
    w: typing.Any,
    out: typing.Any,
    rows: typing.Any,
    N: tl.constexpr,
    K: tl.constexpr,
    PART: tl.constexpr,
    ROWS: tl.constexpr,
    N_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    n = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    t = tl.arange(0, ROWS)
    first = tl.program_id(1) * PART
    total = tl.zeros([ROWS, N_BLOCK], tl.float32)
    for start in tl.range(0, PART, K_BLOCK):
        k = first + start + tl.arange(0, K_BLOCK)
        a = tl.load(x + t[:, None] * K + k[None, :], mask=(t < rows)[:, None] & (k < K)[None, :], other=0.0)
        b = tl.load(w + n[:, None].to(tl.int64) * K + k[None, :], mask=(n < N)[:, None] & (k < K)[None, :], other=0.0)
        total = tl.dot(a, tl.trans(b), total, input_precision="ieee")
    at = out + (tl.program_id(1) * rows + t)[:, None] * N + n[None, :]
    tl.store(at, total, mask=(t < rows)[:, None] & (n < N)[None, :])


@triton.jit
def splitk_reduce_kernel(
    sums: typing.Any, out: typing.Any, count: typing.Any, PARTS: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(sums + part * count + at, mask=at < count, other=0.0)
    tl.store(out + at, total, mask=at < count)
