"""Argmax and softmax over the vocabulary: tiles first, then one program a sequence or a second pass over tiles."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two

TILE = 2048  # tokens of a program


def greedy(target: torch.Tensor, drafts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    batch, prefixes, _ = target.shape
    peaks, places, _ = _peaks(target, None)
    accepted = torch.empty(batch, dtype=torch.int32, device=target.device)
    tokens = torch.empty(batch, prefixes, dtype=torch.int64, device=target.device)
    arguments = (peaks, places, drafts.contiguous(), accepted, tokens)
    launch(
        argmax_keep_kernel,
        (batch,),
        target,
        *arguments,
        K=prefixes - 1,
        P_BLOCK=power_of_two(prefixes),
        **_sizes(peaks),
    )
    return accepted, tokens


def distribution(logits: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """logits [B, n, V], temperature [B] -> [B, n, V]"""
    batch, number, vocab = logits.shape
    peaks, places, masses = _peaks(logits, temperature)
    probs = torch.empty(batch, number, vocab, dtype=torch.float32, device=logits.device)
    arguments = (logits, temperature, peaks, places, masses, probs, number)
    grid = (peaks.shape[1], batch * number)
    launch(softmax_kernel, grid, logits, *arguments, V=vocab, TILE=TILE, **_sizes(peaks), num_warps=4)
    return probs


def _peaks(logits: torch.Tensor, temperature: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of each tile of each row, [B·n, tiles]: highest logit, where, and the sum of exp((logit - it) / temperature)."""
    batch, number, vocab = logits.shape
    assert logits.is_contiguous(), f"{logits.stride()=}"
    shape = (batch * number, -(-vocab // TILE))
    peaks, masses = (torch.empty(shape, dtype=torch.float32, device=logits.device) for _ in range(2))
    places = torch.empty(shape, dtype=torch.int32, device=logits.device)
    arguments = (logits, temperature, peaks, places, masses, number)
    launch(argmax_tiles_kernel, shape[::-1], logits, *arguments, V=vocab, TILE=TILE, num_warps=4)
    return peaks, places, masses


def _sizes(peaks: torch.Tensor) -> dict[str, int]:
    return {"TILES": peaks.shape[1], "TILES_BLOCK": power_of_two(peaks.shape[1])}


@triton.jit
def argmax_tiles_kernel(
    logits: typing.Any,
    temperature: typing.Any,
    peaks: typing.Any,
    places: typing.Any,
    masses: typing.Any,
    number: typing.Any,
    V: tl.constexpr,
    TILE: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    token = tl.program_id(0) * TILE + tl.arange(0, TILE)
    logit = tl.load(logits + row * V + token, mask=token < V, other=float("-inf")).to(tl.float32)
    peak = tl.max(logit, 0)
    place = row * tl.num_programs(0) + tl.program_id(0)
    tl.store(peaks + place, peak)
    tl.store(places + place, tl.min(tl.where(logit == peak, token, V), 0))
    if temperature is not None:
        heat = tl.maximum(tl.load(temperature + row // number), 1e-6)
        tl.store(masses + place, tl.sum(tl.exp((logit - peak) / heat), 0))


@triton.jit
def _top(peaks: typing.Any, places: typing.Any, row: typing.Any, TILES: tl.constexpr, TILES_BLOCK: tl.constexpr):
    """(highest logit of a row, the lowest token that has it)."""
    at = tl.arange(0, TILES_BLOCK)
    peak = tl.load(peaks + row * TILES + at, mask=at < TILES, other=float("-inf"))
    place = tl.load(places + row * TILES + at, mask=at < TILES, other=2147483647)
    top = tl.max(peak, 0)
    return top, tl.min(tl.where(peak == top, place, 2147483647), 0)


@triton.jit
def argmax_keep_kernel(
    peaks: typing.Any,
    places: typing.Any,
    drafts: typing.Any,
    accepted: typing.Any,
    tokens: typing.Any,
    K: tl.constexpr,
    P_BLOCK: tl.constexpr,
    TILES: tl.constexpr,
    TILES_BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, P_BLOCK)
    kept = (row * 0).to(tl.int32)
    token = tl.full([P_BLOCK], -1, tl.int64)
    for i in tl.static_range(K + 1):
        _, best = _top(peaks, places, row * (K + 1) + i, TILES, TILES_BLOCK)
        # kept drafts equal the argmax, so the tokens are the argmax up to the first that differs
        token = tl.where((place == i) & (kept == i), best, token)
        if i < K:
            kept += ((kept == i) & (tl.load(drafts + row * K + i) == best)).to(tl.int32)
    tl.store(accepted + row, kept)
    tl.store(tokens + row * (K + 1) + place, token, mask=place <= K)


@triton.jit
def softmax_kernel(
    logits: typing.Any,
    temperature: typing.Any,
    peaks: typing.Any,
    places: typing.Any,
    masses: typing.Any,
    probs: typing.Any,
    number: typing.Any,
    V: tl.constexpr,
    TILE: tl.constexpr,
    TILES: tl.constexpr,
    TILES_BLOCK: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    at, token = tl.arange(0, TILES_BLOCK), tl.program_id(0) * TILE + tl.arange(0, TILE)
    top, best = _top(peaks, places, row, TILES, TILES_BLOCK)
    warm = tl.load(temperature + row // number)
    heat = tl.maximum(warm, 1e-6)
    peak = tl.load(peaks + row * TILES + at, mask=at < TILES, other=float("-inf"))
    mass = tl.load(masses + row * TILES + at, mask=at < TILES, other=0.0)
    total = tl.sum(mass * tl.exp((peak - top) / heat), 0)

    logit = tl.load(logits + row * V + token, mask=token < V, other=0.0).to(tl.float32)
    prob = tl.exp((logit - top) / heat) / total
    prob = tl.where(warm > 0, prob, (token == best).to(tl.float32))
    tl.store(probs + row * V + token, prob, mask=token < V)
