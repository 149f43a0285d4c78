"""Sparse latent attention for the GPU: programs take tiles of visible rows, a second kernel merges their parts."""

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, multiprocessors, power_of_two
from stepprof.kernels.sparse_attention.merge import merge

BACKEND = "triton"
HEADS, KEYS = 16, 64  # heads and rows of a tile


def sparse_attention(
    q: torch.Tensor,
    window: torch.Tensor,
    rows: torch.Tensor | None,
    table: torch.Tensor | None,
    sequences: torch.Tensor,
    last: torch.Tensor,
    sink: torch.Tensor,
    span: int,
    scale: float,
    turn: tuple[torch.Tensor, torch.Tensor] | None,
) -> torch.Tensor:
    """q [T, H, Dh] -> [T, H, Dh]"""
    count, heads, width = q.shape
    if rows is None or table is None:
        rows, table = window, last[:, None][:, :0]
    assert q.is_contiguous() and window.is_contiguous() and rows.is_contiguous(), f"{q.stride()=} {rows.stride()=}"
    chunks, groups = -(-span // KEYS) + -(-table.shape[1] // KEYS), -(-heads // HEADS)
    each = min(chunks, max(1, count * groups * chunks // (2 * multiprocessors(q))))  # tiles of a program
    splits = -(-chunks // each)

    parts = torch.empty(count, splits, heads, width, dtype=torch.float32, device=q.device)
    peaks, masses = (torch.empty(count, splits, heads, dtype=torch.float32, device=q.device) for _ in range(2))
    arguments = (q, window, rows, table, sequences, last, parts, peaks, masses, scale, window.shape[1])
    sizes = {
        "H": heads,
        "DH": width,
        "SPAN": span,
        "K": table.shape[1],
        "EACH": each,
        "D_BLOCK": power_of_two(width, 16),
    }
    launch(sparse_decode_kernel, (splits, groups, count), q, *arguments, **sizes, HEADS=HEADS, KEYS=KEYS, num_warps=4)
    return merge(parts, peaks, masses, sink, q.dtype, turn)


@triton.jit
def sparse_decode_kernel(
    q: typing.Any,
    window: typing.Any,
    rows: typing.Any,
    table: typing.Any,
    sequences: typing.Any,
    last: typing.Any,
    parts: typing.Any,
    peaks: typing.Any,
    masses: typing.Any,
    scale: typing.Any,
    ring: typing.Any,
    H: tl.constexpr,
    DH: tl.constexpr,
    SPAN: tl.constexpr,
    K: tl.constexpr,
    EACH: tl.constexpr,
    D_BLOCK: tl.constexpr,
    HEADS: tl.constexpr,
    KEYS: tl.constexpr,
):
    split, row = tl.program_id(0), tl.program_id(2).to(tl.int64)
    head, d = tl.program_id(1) * HEADS + tl.arange(0, HEADS), tl.arange(0, D_BLOCK)
    inside = (head < H)[:, None] & (d < DH)[None, :]
    query = tl.load(q + (row * H + head[:, None]) * DH + d[None, :], mask=inside, other=0.0)  # [HEADS, D_BLOCK]
    own = window + tl.load(sequences + row) * ring * DH

    peak, mass = tl.full([HEADS], float("-inf"), tl.float32), tl.zeros([HEADS], tl.float32)
    total = tl.zeros([HEADS, D_BLOCK], tl.float32)
    for i in range(EACH):
        start, valid = _places(
            own, rows, table + row * K, tl.load(last + row), ring, split * EACH + i, DH, SPAN, K, KEYS
        )
        key = tl.load(start[:, None] + d[None, :], mask=valid[:, None] & (d < DH)[None, :], other=0.0)
        logit = tl.dot(query, tl.trans(key), input_precision="ieee") * scale  # [HEADS, KEYS]
        logit = tl.where(valid[None, :], logit, float("-inf"))
        top = tl.maximum(peak, tl.max(logit, 1))
        finite = tl.where(top == float("-inf"), 0.0, top)
        weight, kept = tl.exp(logit - finite[:, None]), tl.exp(peak - finite)
        mass = mass * kept + tl.sum(weight, 1)
        total = total * kept[:, None] + tl.dot(weight.to(key.dtype), key, input_precision="ieee")
        peak = top

    place = (row * tl.num_programs(0) + split) * H + head
    tl.store(parts + place[:, None] * DH + d[None, :], total, mask=inside)
    tl.store(peaks + place, peak, mask=head < H)
    tl.store(masses + place, mass, mask=head < H)


@triton.jit
def _places(
    own: typing.Any,
    rows: typing.Any,
    table: typing.Any,
    last: typing.Any,
    ring: typing.Any,
    chunk: typing.Any,
    DH: tl.constexpr,
    SPAN: tl.constexpr,
    K: tl.constexpr,
    KEYS: tl.constexpr,
):
    """(where the chunk's rows start, which of them may be seen), both [KEYS]; the window's chunks come first."""
    at = tl.arange(0, KEYS)
    back = chunk * KEYS + at
    position = last - back
    valid = (back < SPAN) & (position >= 0)
    start = own + (position % ring) * DH
    if K > 0 and chunk >= (SPAN + KEYS - 1) // KEYS:
        entry = (chunk - (SPAN + KEYS - 1) // KEYS) * KEYS + at
        flat = tl.load(table + entry, mask=entry < K, other=-1)
        valid = flat >= 0
        start = rows + flat.to(tl.int64) * DH
    return start, valid
