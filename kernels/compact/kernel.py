"""Hot and cold rows for the GPU: each row finds its own place, so one kernel splits and compacts."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import flat_rows, launch, power_of_two

BACKEND = "triton"
BLOCK = 1024  # elements a program moves at a time
Parts = tuple[torch.Tensor, ...]


def cold_parts(x: torch.Tensor, top_k: int) -> Parts:
    """Room for the cold rows of x [T, D]: x, slots, weights, rows, held."""
    count, width = x.shape
    shapes = [((count, width), x.dtype), ((count, top_k), torch.int32), ((count, top_k), torch.float32)]
    shapes += [((count,), torch.int32), ((1,), torch.int32)]
    return tuple(torch.empty(shape, dtype=dtype, device=x.device) for shape, dtype in shapes)


def split(
    x: torch.Tensor,
    weights: torch.Tensor,
    experts: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    out: Parts | None,
) -> tuple[torch.Tensor, Parts]:
    """x [T, D], weights and experts [T, A] -> hot slots [T, A], (x, slots, weights, rows, held)"""
    count, top_k = experts.shape
    source, stride = flat_rows(x)
    hot = torch.empty(count, top_k, dtype=torch.int32, device=x.device)
    parts = out or cold_parts(x, top_k)
    arguments = (source, weights, experts, hot_slot, cold_slot, hot, *parts, stride, count)
    sizes = {"D": x.shape[1], "A": top_k, "A_BLOCK": power_of_two(top_k), "T_BLOCK": power_of_two(count)}
    launch(
        cold_rows_copy_kernel, (count,), x, *arguments, **sizes, BLOCK=min(BLOCK, power_of_two(x.shape[1])), num_warps=4
    )
    return hot, tuple(parts)


def add_rows(out: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """out [T, D], y [T, D], rows [T] -> [T, D]"""
    total = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    count, width = out.shape
    block = min(BLOCK, power_of_two(width))
    grid = (-(-width // block), count)
    arguments = (out, y, rows, total, out.stride(0), y.stride(0), len(rows))
    launch(
        add_rows_elementwise_kernel,
        grid,
        out,
        *arguments,
        D=width,
        T_BLOCK=power_of_two(len(rows)),
        BLOCK=block,
        num_warps=4,
    )
    return total


def impose(experts: torch.Tensor, cold: torch.Tensor, hot_list: torch.Tensor, cold_list: torch.Tensor) -> torch.Tensor:
    """experts [T, A], cold [T] -> [T, A]"""
    count, top_k = experts.shape
    out = torch.empty(count, top_k, dtype=torch.int32, device=experts.device)
    arguments = (experts, cold, hot_list, cold_list, out, len(hot_list), len(cold_list))
    launch(impose_elementwise_kernel, (count,), experts, *arguments, A=top_k, A_BLOCK=power_of_two(top_k), num_warps=1)
    return out


@triton.jit
def cold_rows_copy_kernel(
    x: typing.Any,
    weights: typing.Any,
    experts: typing.Any,
    hot_slot: typing.Any,
    cold_slot: typing.Any,
    hot: typing.Any,
    cold_x: typing.Any,
    cold_slots: typing.Any,
    cold_weights: typing.Any,
    rows: typing.Any,
    held: typing.Any,
    stride: typing.Any,
    count: typing.Any,
    D: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
    T_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.arange(0, A_BLOCK)
    every = tl.arange(0, T_BLOCK)
    inside = (every[:, None] < count) & (column[None, :] < A)
    expert = tl.load(experts + every[:, None] * A + column[None, :], mask=inside, other=0)
    slot = tl.load(cold_slot + expert, mask=inside, other=-1)  # [T_BLOCK, A_BLOCK]
    is_cold = (tl.max(slot, 1) >= 0).to(tl.int32)  # [T_BLOCK]
    total = tl.sum(is_cold, 0)
    before = tl.sum(tl.where(every < row, is_cold, 0), 0)
    mine = tl.sum(tl.where(every == row, is_cold, 0), 0)
    if row == 0:
        tl.store(held, total)

    # cold rows come first, the others' places hold -1
    place = tl.where(mine != 0, before, total + row - before)
    mask = column < A
    own = tl.load(experts + row * A + column, mask=mask, other=0)
    tl.store(hot + row * A + column, tl.load(hot_slot + own, mask=mask, other=-1), mask=mask)
    cold = tl.load(cold_slot + own, mask=mask, other=-1)
    tl.store(cold_slots + place * A + column, tl.where(mine != 0, cold, -1), mask=mask)
    tl.store(rows + place, tl.where(mine != 0, row, -1))
    if mine != 0:
        tl.store(cold_weights + place * A + column, tl.load(weights + row * A + column, mask=mask), mask=mask)
        for start in range(0, D, BLOCK):
            at = start + tl.arange(0, BLOCK)
            value = tl.load(x + row.to(tl.int64) * stride + at, mask=at < D)
            tl.store(cold_x + place.to(tl.int64) * D + at, value, mask=at < D)


@triton.jit
def add_rows_elementwise_kernel(
    out: typing.Any,
    y: typing.Any,
    rows: typing.Any,
    total: typing.Any,
    out_stride: typing.Any,
    y_stride: typing.Any,
    count: typing.Any,
    D: tl.constexpr,
    T_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    every = tl.arange(0, T_BLOCK)
    goal = tl.load(rows + every, mask=every < count, other=-1)
    answer = tl.max(tl.where(goal == row, every, -1), 0)
    value = tl.load(out + row.to(tl.int64) * out_stride + at, mask=at < D, other=0.0).to(tl.float32)
    if answer >= 0:
        value += tl.load(y + answer.to(tl.int64) * y_stride + at, mask=at < D, other=0.0).to(tl.float32)
    tl.store(total + row.to(tl.int64) * D + at, value, mask=at < D)


@triton.jit
def impose_elementwise_kernel(
    experts: typing.Any,
    cold: typing.Any,
    hot_list: typing.Any,
    cold_list: typing.Any,
    out: typing.Any,
    n_hot: typing.Any,
    n_cold: typing.Any,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.arange(0, A_BLOCK)
    mask = column < A
    expert = tl.load(experts + row * A + column, mask=mask, other=0)
    flagged = tl.load(cold + row).to(tl.int32) != 0
    hot = tl.load(hot_list + (expert + column) % n_hot, mask=mask, other=-1)
    last = tl.load(experts + row * A + A - 1)
    forced = tl.load(cold_list + last % n_cold)
    tl.store(out + row * A + column, tl.where(flagged & (column == A - 1), forced, hot), mask=mask)
