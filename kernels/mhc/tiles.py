"""Parts of the hyper-connection kernels that the single ops and the fused boundary share; row [] int64."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false

import typing

import triton
import triton.language as tl


@triton.jit
def store_normed(
    streams: typing.Any,
    logits: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    weight: typing.Any,
    x: typing.Any,
    row: typing.Any,
    eps: typing.Any,
    S: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """x[row] = RMSNorm of the row's streams, weighted by its first S logits."""
    at = tl.arange(0, BLOCK)
    inside = at < D
    heat = tl.load(scale)
    mixed = tl.zeros([BLOCK], tl.float32)
    for s in tl.static_range(S):
        logit = tl.load(logits + row * (S * (S + 2)) + s, cache_modifier=".cg")
        pre = 1.0 / (1.0 + tl.exp(-(logit * heat + tl.load(base + s)))) + eps
        # .cg: in the fused kernel other programs have just written these
        stream = tl.load(streams + (row * S + s) * D + at, mask=inside, other=0.0, cache_modifier=".cg")
        mixed += pre * stream.to(tl.float32)
    mixed *= tl.rsqrt(tl.sum(mixed * mixed, 0) / D + eps)
    tl.store(x + row * D + at, mixed * tl.load(weight + at, mask=inside, other=0.0).to(tl.float32), mask=inside)


@triton.jit
def store_post_weights(
    logits: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    row: typing.Any,
    eps: typing.Any,
    ITERATIONS: tl.constexpr,
    S: tl.constexpr,
    S_BLOCK: tl.constexpr,
):
    """post[row] [S] and comb[row] [S, S] from the row's logits."""
    start = logits + row * (S * (S + 2))
    at = tl.arange(0, S_BLOCK)
    own = tl.load(start + S + at, mask=at < S, other=0.0) * tl.load(scale + 1)
    own += tl.load(base + S + at, mask=at < S, other=0.0)
    tl.store(post + row * S + at, 2.0 / (1.0 + tl.exp(-own)), mask=at < S)

    inside = (at[:, None] < S) & (at[None, :] < S)
    place = at[:, None] * S + at[None, :]
    mix = tl.load(start + 2 * S + place, mask=inside, other=0.0) * tl.load(scale + 2)
    mix = tl.where(inside, mix + tl.load(base + 2 * S + place, mask=inside, other=0.0), -1e30)
    mix = tl.where(inside, tl.exp(mix - tl.max(mix, 1)[:, None]), 0.0)
    mix = tl.where(inside, mix / (tl.sum(mix, 1)[:, None] + tl.where(at < S, 0.0, 1.0)[:, None]) + eps, 0.0)
    mix = mix / (tl.sum(mix, 0)[None, :] + eps)
    for _ in range(ITERATIONS - 1):
        mix = mix / (tl.sum(mix, 1)[:, None] + eps)
        mix = mix / (tl.sum(mix, 0)[None, :] + eps)
    tl.store(comb + row * (S * S) + place, mix, mask=inside)
