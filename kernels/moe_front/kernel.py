"""Gate GEMM, routing and split in one kernel: programs compute logits, the last one routes all rows and splits them.

Programs count themselves in a ticket; the one that comes last sees all logits (acquire, release).
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.compact.kernel import cold_parts
from stepprof.kernels.expert_gemm.tiles import dots
from stepprof.kernels.launch import flat_rows, launch, multiprocessors, power_of_two, tickets
from stepprof.kernels.router.kernel import chosen

BACKEND = "triton"
WEIGHTS = 8192  # gate weights of a program at a time
LOGITS = 4096  # logits that the last program routes at a time
Parts = tuple[torch.Tensor, ...]


def moe_front(
    x: torch.Tensor,
    gate: torch.Tensor,
    bias: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    top_k: int,
    scale: float,
    out: Parts | None,
) -> tuple[torch.Tensor, torch.Tensor, Parts]:
    """x [T, D], gate [E, D] -> weights [T, A], hot slots [T, A], cold rows"""
    (rows, width), experts = x.shape, len(gate)
    assert gate.is_contiguous(), f"{gate.stride()=}"
    source, stride = flat_rows(x)
    weights = torch.empty(rows, top_k, dtype=torch.float32, device=x.device)
    hot = torch.empty(rows, top_k, dtype=torch.int32, device=x.device)
    logits = torch.empty(rows, experts, dtype=torch.float32, device=x.device)
    parts = tuple(out or cold_parts(x, top_k))
    d_block, e_block = min(2048, power_of_two(width)), power_of_two(experts)
    each = min(power_of_two(-(-experts // multiprocessors(x))), WEIGHTS // d_block)  # experts of a program
    arguments = (source, gate, bias, hot_slot, cold_slot, logits, weights, hot, *parts)
    arguments += (tickets("moe_front", 1, x), stride, rows, scale)
    sizes = {"D": width, "D_BLOCK": d_block, "E": experts, "EACH": each, "E_BLOCK": e_block}
    sizes |= {"A": top_k, "A_BLOCK": power_of_two(top_k)}
    sizes["R_BLOCK"] = max(1, min(power_of_two(rows), LOGITS // e_block))
    launch(moe_front_gemm_kernel, (-(-experts // each),), x, *arguments, **sizes, num_warps=8)
    return weights, hot, parts


@triton.jit
def moe_front_gemm_kernel(
    x: typing.Any,
    gate: typing.Any,
    bias: typing.Any,
    hot_slot: typing.Any,
    cold_slot: typing.Any,
    logits: typing.Any,
    weights: typing.Any,
    hot: typing.Any,
    cold_x: typing.Any,
    cold_slots: typing.Any,
    cold_weights: typing.Any,
    rows: typing.Any,
    held: typing.Any,
    ticket: typing.Any,
    stride: typing.Any,
    count: typing.Any,
    scale: typing.Any,
    D: tl.constexpr,
    D_BLOCK: tl.constexpr,
    E: tl.constexpr,
    EACH: tl.constexpr,
    E_BLOCK: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
    R_BLOCK: tl.constexpr,
):
    expert = tl.program_id(0) * EACH + tl.arange(0, EACH)
    for each in range(count):
        logit = dots(gate, x + each * stride, expert, E, D, D_BLOCK)
        tl.store(logits + each * E + expert, logit, mask=expert < E)

    tl.debug_barrier()  # all of this program's logits come before its count
    if tl.atomic_add(ticket, 1, sem="acq_rel", scope="gpu") == tl.num_programs(0) - 1:
        tl.store(ticket, 0)
        before = tl.sum(tl.zeros([R_BLOCK], tl.int32), 0)
        for first in range(0, count, R_BLOCK):
            row = first + tl.arange(0, R_BLOCK)
            best, slot = _routed(
                logits, bias, hot_slot, cold_slot, weights, hot, row, count, scale, E, E_BLOCK, A, A_BLOCK
            )
            is_cold = tl.max(slot, 1) >= 0  # [R_BLOCK]
            place = before + tl.cumsum(is_cold.to(tl.int32), 0) - 1
            _move(x, best, slot, cold_x, cold_slots, cold_weights, rows, row, place, is_cold, stride, D, A, A_BLOCK)
            before += tl.sum(is_cold.to(tl.int32), 0)
        tl.store(held, before)
        _clear(cold_slots, rows, before, count, A, A_BLOCK)


@triton.jit
def _routed(
    logits: typing.Any,
    bias: typing.Any,
    hot_slot: typing.Any,
    cold_slot: typing.Any,
    weights: typing.Any,
    hot: typing.Any,
    row: typing.Any,
    count: typing.Any,
    scale: typing.Any,
    E: tl.constexpr,
    E_BLOCK: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    """Route rows `row` and write weights and hot slots; (weights, cold slots), both [R_BLOCK, A_BLOCK]."""
    expert, column = tl.arange(0, E_BLOCK)[None, :], tl.arange(0, A_BLOCK)[None, :]
    mask = (row < count)[:, None] & (expert < E)
    # .cg: other programs have just written these
    logit = tl.load(logits + row[:, None] * E + expert, mask=mask, other=0.0, cache_modifier=".cg")
    shift = tl.load(bias + expert, mask=expert < E, other=0.0)
    best, taken = chosen(logit, shift, scale, E, E_BLOCK, A, A_BLOCK)
    mask = (row < count)[:, None] & (column < A)
    tl.store(weights + row[:, None] * A + column, best, mask=mask)
    tl.store(hot + row[:, None] * A + column, tl.load(hot_slot + taken, mask=mask, other=-1), mask=mask)
    return best, tl.load(cold_slot + taken, mask=mask, other=-1)


@triton.jit
def _move(
    x: typing.Any,
    best: typing.Any,
    slot: typing.Any,
    cold_x: typing.Any,
    cold_slots: typing.Any,
    cold_weights: typing.Any,
    rows: typing.Any,
    row: typing.Any,
    place: typing.Any,
    is_cold: typing.Any,
    stride: typing.Any,
    D: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    """Write the cold ones among rows `row` to their places."""
    column = tl.arange(0, A_BLOCK)[None, :]
    mask = is_cold[:, None] & (column < A)
    tl.store(cold_slots + place[:, None] * A + column, slot, mask=mask)
    tl.store(cold_weights + place[:, None] * A + column, best, mask=mask)
    tl.store(rows + place, row, mask=is_cold)
    for start in range(0, D, 256):
        at = start + tl.arange(0, 256)[None, :]
        inside = is_cold[:, None] & (at < D)
        value = tl.load(x + row.to(tl.int64)[:, None] * stride + at, mask=inside)
        tl.store(cold_x + place.to(tl.int64)[:, None] * D + at, value, mask=inside)


@triton.jit
def _clear(
    cold_slots: typing.Any,
    rows: typing.Any,
    held: typing.Any,
    count: typing.Any,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    """Places beyond the held rows say -1."""
    column = tl.arange(0, A_BLOCK)
    for place in range(held, count):
        tl.store(cold_slots + place * A + column, -1, mask=column < A)
        tl.store(rows + place, -1)
