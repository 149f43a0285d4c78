"""Cases of the mixture half of a layer, and of acceptance."""

from __future__ import annotations

from functools import partial

import torch

from stepprof.kernels import accept, compact, expert_gemm, moe_front, router
from stepprof.kernels.bench.case import Bench, Call, Case
from stepprof.kernels.swiglu import swiglu

DRAFTS = 5  # tokens of a draft
SCALE = 1.5  # of the routing weights


def mixture_cases(b: Bench) -> list[Case]:
    """Routing, split, experts."""
    return [*_routing(b), *_experts(b)]


def _routing(b: Bench) -> list[Case]:
    s, count = b.shapes, b.rows
    cold = torch.arange(s.experts, dtype=torch.int32, device=b.device) - s.hot_experts
    slots = (torch.where(cold < 0, cold + s.hot_experts, -1), cold.clamp_min(-1))  # hot, cold

    def route(_: int) -> Call:
        given = (b.normal(count, s.experts), b.floats(s.experts), s.top_k, SCALE)
        return Call(router.route, given, 8 * count * s.experts)

    def split(_: int) -> Call:
        experts = b.integers(s.experts, count, s.top_k, dtype=torch.int32)
        return Call(compact.split, (b.normal(count, s.hidden), b.floats(count, s.top_k), experts, *slots), 0)

    def front(_: int) -> Call:
        x, gate = b.normal(count, s.hidden), b.normal(s.experts, s.hidden)
        given = (x, gate, b.floats(s.experts), *slots, s.top_k, SCALE)
        return Call(moe_front.moe_front, given, 2 * count * s.experts * s.hidden)

    def add(_: int) -> Call:
        rows = torch.arange(count, dtype=torch.int32, device=b.device)
        x = b.normal(count, s.hidden)
        return Call(compact.add_rows, (x, b.normal(count, s.hidden), rows), x.numel())

    def activate(_: int) -> Call:
        return Call(swiglu, (b.normal(count, 2 * s.expert_width),), 5 * count * s.expert_width)

    return [
        Case("router.route", "router_topk_kernel", route),
        Case("compact.split", "cold_rows_copy_kernel", split),
        Case("moe_front.moe_front", "moe_front_gemm_kernel", front),
        Case("compact.add_rows", "add_rows_elementwise_kernel", add),
        Case("swiglu.swiglu", "swiglu_kernel", activate),
    ]


def _experts(b: Bench) -> list[Case]:
    """Each call takes other experts of the bank, every row its own, as far as the bank goes."""
    s, pairs = b.shapes, b.rows * b.shapes.top_k
    w_in = b.normal(s.hot_experts, 2 * s.expert_width, s.hidden)
    w_out = b.normal(s.hot_experts, s.hidden, s.expert_width)
    used = min(pairs, s.hot_experts)
    matrix = w_out.nbytes // s.hot_experts

    def slots(i: int) -> torch.Tensor:
        flat = torch.arange(i * pairs, (i + 1) * pairs, device=b.device) % s.hot_experts
        return flat.int().view(b.rows, s.top_k)

    def up(i: int) -> Call:
        x = b.normal(b.rows, s.hidden)
        flops = 4 * pairs * s.hidden * s.expert_width
        return Call(expert_gemm.up_gate, (x, slots(i), w_in), flops, x.nbytes + 2 * used * matrix)

    def down(function: object, i: int) -> Call:
        h, weights = b.normal(b.rows, s.top_k, s.expert_width), b.floats(b.rows, s.top_k)
        flops = 2 * pairs * s.hidden * s.expert_width
        return Call(function, (h, slots(i), weights, w_out), flops, h.nbytes + used * matrix)  # pyright: ignore[reportArgumentType]

    def reduce(_: int) -> Call:
        parts = b.floats(b.rows, s.top_k, s.hidden)
        return Call(expert_gemm.reduce, (parts, b.dtype), parts.numel())

    return [
        Case("expert_gemm.up_gate", "expert_gemm_up_gate_kernel", up),
        Case("expert_gemm.down", "expert_gemm_down_kernel", partial(down, expert_gemm.down)),
        Case("expert_gemm.down_atomic", "expert_gemm_down_kernel", partial(down, expert_gemm.down_atomic)),
        Case("expert_gemm.reduce", "moe_sum_kernel", reduce),
    ]


def acceptance_cases(b: Bench) -> list[Case]:
    """One sequence whatever the rows."""
    vocab = b.shapes.vocab

    def drafts() -> torch.Tensor:
        return b.integers(vocab, 1, DRAFTS)

    def greedy(_: int) -> Call:
        return Call(accept.greedy, (b.normal(1, DRAFTS + 1, vocab), drafts()), DRAFTS * vocab)

    def sampled(function: object, _: int) -> Call:
        target, draft = b.floats(1, DRAFTS + 1, vocab), b.floats(1, DRAFTS, vocab)
        given = (target, draft, drafts(), b.floats(1, DRAFTS), b.floats(1))
        return Call(function, given, 3 * target.numel())  # pyright: ignore[reportArgumentType]

    def heated(_: int) -> Call:
        logits = b.normal(1, DRAFTS + 1, vocab)
        return Call(accept.distribution, (logits, b.floats(1)), 4 * logits.numel(), 2 * logits.nbytes)

    return [
        Case("accept.greedy", "argmax_tiles_kernel", greedy),
        Case("accept.token_wise", "residual_mass_kernel", partial(sampled, accept.token_wise)),
        Case("accept.block", "residual_mass_kernel", partial(sampled, accept.block)),
        Case("accept.distribution", "softmax_kernel", heated),
    ]
