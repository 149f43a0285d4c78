"""Expert GEMMs for the GPU: weights are streamed once from where they lie, in tiles of whole weight rows.

Work is (pair, tile): a pair is one row's use of one expert. The first pair that uses an expert computes for all of
them, so an expert's weights come from memory once, however many rows chose it. Programs loop over the work, so pairs
without an expert cost next to nothing.
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false, reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.expert_gemm.tiles import Tiles, dots, dots_of_two, each_user, slot_of, slots_of_all
from stepprof.kernels.launch import launch, power_of_two
from stepprof.kernels.swiglu.kernel import gated

BACKEND = "triton"


def up_gate(
    x: torch.Tensor, slots: torch.Tensor, w_in: torch.Tensor, limit: float, count: torch.Tensor | None
) -> torch.Tensor:
    """x [T, D], slots [T, A], w_in [E, 2·I, D] -> [T, A, I]"""
    (rows, top_k), width, depth = slots.shape, w_in.shape[1] // 2, w_in.shape[2]
    assert x.is_contiguous() and w_in.is_contiguous(), f"{x.stride()=} {w_in.stride()=}"
    h = torch.empty(rows, top_k, width, dtype=x.dtype, device=x.device)
    tiles = Tiles.of(width, depth, matrices=2)
    arguments = (x, slots, w_in, h, count, limit, rows * top_k)
    sizes = {"I_BLOCK": power_of_two(width)} | tiles.sizes(rows, top_k)
    launch(expert_gemm_up_gate_kernel, tiles.grid(x, rows * top_k), x, *arguments, **sizes, num_warps=4)
    return h


def down(
    h: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor, w_out: torch.Tensor, count: torch.Tensor | None
) -> torch.Tensor:
    """h [T, A, I], w_out [E, D, I] -> [T, A, D]"""
    parts = torch.empty(*slots.shape, w_out.shape[1], dtype=torch.float32, device=h.device)
    _run_down(h, slots, weights, w_out, parts, count, atomic=False)
    return parts


def reduce(
    parts: torch.Tensor, dtype: torch.dtype, add: torch.Tensor | None, count: torch.Tensor | None
) -> torch.Tensor:
    """[T, A, D] -> [T, D]"""
    rows, top_k, width = parts.shape
    out = torch.empty(rows, width, dtype=dtype, device=parts.device)
    block = min(512, power_of_two(width))
    arguments = (parts, add, out, count, 0 if add is None else add.stride(0))
    launch(moe_sum_kernel, (-(-width // block), rows), parts, *arguments, A=top_k, D=width, BLOCK=block, num_warps=4)
    return out


def down_atomic(
    h: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor, w_out: torch.Tensor, count: torch.Tensor | None
) -> torch.Tensor:
    """-> [T, D]"""
    out = torch.zeros(len(slots), w_out.shape[1], dtype=torch.float32, device=h.device)
    _run_down(h, slots, weights, w_out, out, count, atomic=True)
    return out


def _run_down(
    h: torch.Tensor,
    slots: torch.Tensor,
    weights: torch.Tensor,
    w_out: torch.Tensor,
    out: torch.Tensor,
    count: torch.Tensor | None,
    *,
    atomic: bool,
) -> None:
    (rows, top_k), (_, width, depth) = slots.shape, w_out.shape
    assert h.is_contiguous() and w_out.is_contiguous(), f"{h.stride()=} {w_out.stride()=}"
    tiles = Tiles.of(width, depth, matrices=1)
    arguments = (h, slots, weights, w_out, out, count, rows * top_k)
    sizes = {"N_ALL": power_of_two(width), "ATOMIC": atomic} | tiles.sizes(rows, top_k)
    launch(expert_gemm_down_kernel, tiles.grid(h, rows * top_k), h, *arguments, **sizes, num_warps=4)


@triton.jit
def expert_gemm_up_gate_kernel(
    x: typing.Any,
    slots: typing.Any,
    w_in: typing.Any,
    h: typing.Any,
    count: typing.Any,
    limit: typing.Any,
    pairs: typing.Any,
    I_BLOCK: tl.constexpr,
    A: tl.constexpr,
    PAIRS: tl.constexpr,
    N: tl.constexpr,
    N_BLOCK: tl.constexpr,
    K: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    tiles: tl.constexpr = (N + N_BLOCK - 1) // N_BLOCK
    every = slots_of_all(slots, count, pairs, A, PAIRS)
    for work in range(tl.program_id(0), pairs * tiles, tl.num_programs(0)):
        pair = work // tiles
        slot = slot_of(slots, count, pair, A)
        if slot >= 0:
            user = each_user(every, slot, -1, PAIRS)
            if user == pair:  # the first pair of this expert
                n = (work % tiles) * N_BLOCK + tl.arange(0, N_BLOCK)
                gates = w_in + slot.to(tl.int64) * (2 * N * K)
                while user < PAIRS:
                    gate, up = dots_of_two(gates, gates + N * K, x + (user // A) * K, n, N, K, K_BLOCK)
                    tl.store(h + user * N + n, gated(gate, up, limit), mask=n < N)
                    user = each_user(every, slot, user, PAIRS)

    at = tl.arange(0, I_BLOCK)
    for pair in range(tl.program_id(0), pairs, tl.num_programs(0)):
        if slot_of(slots, count, pair, A) == -1:
            tl.store(h + pair * N + at, tl.zeros([I_BLOCK], tl.float32), mask=at < N)


@triton.jit
def expert_gemm_down_kernel(
    h: typing.Any,
    slots: typing.Any,
    weights: typing.Any,
    w_out: typing.Any,
    out: typing.Any,
    count: typing.Any,
    pairs: typing.Any,
    N_ALL: tl.constexpr,
    ATOMIC: tl.constexpr,
    A: tl.constexpr,
    PAIRS: tl.constexpr,
    N: tl.constexpr,
    N_BLOCK: tl.constexpr,
    K: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    tiles: tl.constexpr = (N + N_BLOCK - 1) // N_BLOCK
    every = slots_of_all(slots, count, pairs, A, PAIRS)
    for work in range(tl.program_id(0), pairs * tiles, tl.num_programs(0)):
        pair = work // tiles
        slot = slot_of(slots, count, pair, A)
        if slot >= 0:
            user = each_user(every, slot, -1, PAIRS)
            if user == pair:
                n = (work % tiles) * N_BLOCK + tl.arange(0, N_BLOCK)
                matrix = w_out + slot.to(tl.int64) * (N * K)
                while user < PAIRS:
                    value = dots(matrix, h + user * K, n, N, K, K_BLOCK) * tl.load(weights + user)
                    if ATOMIC:
                        tl.atomic_add(out + (user // A) * N + n, value, mask=n < N, sem="relaxed")
                    else:
                        tl.store(out + user * N + n, value, mask=n < N)
                    user = each_user(every, slot, user, PAIRS)

    if not ATOMIC:
        at = tl.arange(0, N_ALL)
        for pair in range(tl.program_id(0), pairs, tl.num_programs(0)):
            if slot_of(slots, count, pair, A) == -1:
                tl.store(out + pair * N + at, tl.zeros([N_ALL], tl.float32), mask=at < N)


@triton.jit
def moe_sum_kernel(
    parts: typing.Any,
    add: typing.Any,
    out: typing.Any,
    count: typing.Any,
    stride: typing.Any,
    A: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1)
    held = tl.num_programs(1)
    if count is not None:
        held = tl.load(count)
    if row < held:
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], tl.float32)
        for a in tl.static_range(A):
            total += tl.load(parts + (row.to(tl.int64) * A + a) * D + at, mask=at < D, other=0.0)
        if add is not None:
            total += tl.load(add + row.to(tl.int64) * stride + at, mask=at < D, other=0.0).to(tl.float32)
        tl.store(out + row.to(tl.int64) * D + at, total, mask=at < D)
