"""The two kernels of sampled acceptance; sums are float64, so that no token of probability 0 is drawn."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false

import typing

import triton
import triton.language as tl


@triton.jit
def reach(
    target: typing.Any,
    draft: typing.Any,
    drafts: typing.Any,
    row: typing.Any,
    i: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
):
    """How far prefix i carries: min(1, reach before it · p / q of its last draft); 1 for the empty one."""
    value = tl.load(target + row * (K + 1) * V) * 0.0 + 1.0  # 1.0 as a tensor
    for j in range(i):
        token = tl.load(drafts + row * K + j)
        p = tl.load(target + (row * (K + 1) + j) * V + token)
        value = tl.minimum(value * (p / tl.load(draft + (row * K + j) * V + token)), 1.0)
    return value


@triton.jit
def left(
    target: typing.Any,
    draft: typing.Any,
    factor: typing.Any,
    row: typing.Any,
    i: typing.Any,
    token: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
):
    """What a new token after prefix i is drawn from: max(factor · p - q, 0), after the last draft p; like `token`."""
    p = tl.load(target + (row * (K + 1) + i) * V + token, mask=token < V, other=0.0)
    if K > 0:
        q = tl.load(draft + (row * K + i) * V + token, mask=token < tl.where(i < K, V, 0), other=0.0)
        p = tl.maximum(tl.where(i < K, factor, 1.0) * p - q, 0.0)
    return p.to(tl.float64)


@triton.jit
def residual_mass_kernel(
    target: typing.Any,
    draft: typing.Any,
    drafts: typing.Any,
    sums: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """sums[row, i, tile] of what is left after prefix i."""
    tile, i, row = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    factor = 1.0
    if BLOCK:
        factor = reach(target, draft, drafts, row, i, K, V)
    value = left(target, draft, factor, row, i, tile * TILE + tl.arange(0, TILE), K, V)
    tl.store(sums + (row * (K + 1) + i) * tl.num_programs(0) + tile, tl.sum(value, 0))


@triton.jit
def accept_resample_kernel(
    target: typing.Any,
    draft: typing.Any,
    drafts: typing.Any,
    accept_draws: typing.Any,
    sample_draw: typing.Any,
    sums: typing.Any,
    accepted: typing.Any,
    tokens: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
    TILES: tl.constexpr,
    TILES_BLOCK: tl.constexpr,
    P_BLOCK: tl.constexpr,
):
    """Decide the kept prefix of a sequence, draw the token after it, write both."""
    row = tl.program_id(0).to(tl.int64)
    own = sums + row * (K + 1) * TILES
    factor = 1.0
    if BLOCK:
        kept = _block_kept(target, draft, drafts, accept_draws, own, row, K, V, TILES, TILES_BLOCK)
        factor = reach(target, draft, drafts, row, kept, K, V)
    else:
        kept = _token_wise_kept(target, draft, drafts, accept_draws, row, K, V)
    draw = tl.load(sample_draw + row).to(tl.float64)
    token = _draw(target, draft, factor, draw, own + kept * TILES, row, kept, K, V, TILE, TILES, TILES_BLOCK)

    tl.store(accepted + row, kept)
    place = tl.arange(0, P_BLOCK)
    if K > 0:
        drafted = tl.load(drafts + row * K + place, mask=place < K, other=-1)
        token = tl.where(place < kept, drafted, tl.where(place == kept, token, -1))
    tl.store(tokens + row * (K + 1) + place, token.to(tl.int64), mask=place <= K)


@triton.jit
def _token_wise_kept(
    target: typing.Any,
    draft: typing.Any,
    drafts: typing.Any,
    accept_draws: typing.Any,
    row: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
):
    """Drafts that pass draw < p / q before the first that does not."""
    kept = (row * 0).to(tl.int32)
    for j in tl.static_range(K):
        token = tl.load(drafts + row * K + j)
        p = tl.load(target + (row * (K + 1) + j) * V + token)
        passed = tl.load(accept_draws + row * K + j) * tl.load(draft + (row * K + j) * V + token) < p
        kept += ((kept == j) & passed).to(tl.int32)
    return kept


@triton.jit
def _block_kept(
    target: typing.Any,
    draft: typing.Any,
    drafts: typing.Any,
    accept_draws: typing.Any,
    own: typing.Any,
    row: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
    TILES: tl.constexpr,
    TILES_BLOCK: tl.constexpr,
):
    """The longest prefix whose own draw passes: mass / (mass + 1 - reach), and reach for all drafts."""
    at = tl.arange(0, TILES_BLOCK)
    kept = (row * 0).to(tl.int32)
    for j in tl.static_range(1, K + 1):
        far = reach(target, draft, drafts, row, j, K, V)
        keep = far
        if j < K:
            mass = tl.sum(tl.load(own + j * TILES + at, mask=at < TILES, other=0.0), 0).to(tl.float32)
            keep = tl.where(far < 1, mass / (mass + 1.0 - far), 1.0)
        kept = tl.where(tl.load(accept_draws + row * K + j - 1) < keep, j, kept)
    return kept


@triton.jit
def _draw(
    target: typing.Any,
    draft: typing.Any,
    factor: typing.Any,
    draw: typing.Any,
    own: typing.Any,
    row: typing.Any,
    i: typing.Any,
    K: tl.constexpr,
    V: tl.constexpr,
    TILE: tl.constexpr,
    TILES: tl.constexpr,
    TILES_BLOCK: tl.constexpr,
):
    """The token at which the running sum passes draw · total; `own` holds the sums of the row's tiles."""
    at = tl.arange(0, TILES_BLOCK)
    part = tl.load(own + at, mask=at < TILES, other=0.0)
    goal = draw * tl.sum(part, 0)
    below = (tl.cumsum(part, 0) <= goal) & (at < TILES)
    tile = tl.minimum(tl.sum(below.to(tl.int32), 0), tl.max(tl.where(part > 0, at, 0), 0))
    before = tl.sum(tl.where(at < tile, part, 0.0), 0)

    token = tile * TILE + tl.arange(0, TILE)
    value = left(target, draft, factor, row, i, token, K, V)
    hit = (before + tl.cumsum(value, 0) > goal) & (value > 0)
    last = tl.max(tl.where(value > 0, token, 0), 0)  # rounding may leave nothing above the goal
    return tl.minimum(tl.min(tl.where(hit, token, V), 0), last)
