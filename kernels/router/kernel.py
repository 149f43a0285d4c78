"""Routing for the GPU: one program a row, the best expert taken A times; `chosen` also serves the fused front."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import flat_rows, launch, power_of_two

BACKEND = "triton"


def route(logits: torch.Tensor, bias: torch.Tensor, top_k: int, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """logits [T, E], bias [E] -> weights [T, A], experts [T, A]"""
    rows, stride = flat_rows(logits)
    count, experts = rows.shape
    weights = torch.empty(count, top_k, dtype=torch.float32, device=logits.device)
    ids = torch.empty(count, top_k, dtype=torch.int32, device=logits.device)
    sizes = {"E": experts, "E_BLOCK": power_of_two(experts), "A": top_k, "A_BLOCK": power_of_two(top_k)}
    launch(router_topk_kernel, (count,), logits, rows, bias, weights, ids, stride, scale, **sizes, num_warps=1)
    return weights, ids


@triton.jit
def score(logit: typing.Any):
    """sqrt(softplus(logit)), exact also where exp(logit) is far below 1."""
    small = tl.exp(-tl.abs(logit))
    grown = 1.0 + small
    # log1p(small) without loss: the rounding of 1 + small cancels in the quotient
    log1p = tl.where(grown == 1.0, small, tl.log(grown) * (small / tl.where(grown == 1.0, 1.0, grown - 1.0)))
    return tl.sqrt(tl.maximum(logit, 0.0) + log1p)


@triton.jit
def chosen(
    logit: typing.Any,
    bias: typing.Any,
    scale: typing.Any,
    E: tl.constexpr,
    E_BLOCK: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    """(weights, experts), both [R, A_BLOCK], of logits [R, E_BLOCK] float32; columns from A on hold nothing."""
    expert = tl.arange(0, E_BLOCK)[None, :]
    column = tl.arange(0, A_BLOCK)[None, :]
    scores = score(logit)
    choice = tl.where(expert < E, scores + bias, float("-inf"))
    weights = tl.zeros([logit.shape[0], A_BLOCK], tl.float32)
    ids = tl.zeros([logit.shape[0], A_BLOCK], tl.int32)
    for a in tl.static_range(A):
        best = tl.max(choice, 1)  # [R]
        taken = tl.min(tl.where((choice == best[:, None]) & (expert < E), expert, E_BLOCK), 1)  # the lower of equals
        weight = tl.sum(tl.where(expert == taken[:, None], scores, 0.0), 1)
        weights = tl.where(column == a, weight[:, None], weights)
        ids = tl.where(column == a, taken[:, None], ids)
        choice = tl.where(expert == taken[:, None], float("-inf"), choice)
    return weights * (scale / tl.sum(weights, 1))[:, None], ids


@triton.jit
def router_topk_kernel(
    logits: typing.Any,
    bias: typing.Any,
    weights: typing.Any,
    ids: typing.Any,
    stride: typing.Any,
    scale: typing.Any,
    E: tl.constexpr,
    E_BLOCK: tl.constexpr,
    A: tl.constexpr,
    A_BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    expert = tl.arange(0, E_BLOCK)[None, :]
    column = tl.arange(0, A_BLOCK)[None, :]
    logit = tl.load(logits + row * stride + expert, mask=expert < E, other=0.0).to(tl.float32)  # [1, E_BLOCK]
    shift = tl.load(bias + expert, mask=expert < E, other=0.0)
    best, taken = chosen(logit, shift, scale, E, E_BLOCK, A, A_BLOCK)
    tl.store(weights + row * A + column, best, mask=column < A)
    tl.store(ids + row * A + column, taken, mask=column < A)
