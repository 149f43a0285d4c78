"""Parts of an attention put together: weigh them by their masses, count the sink, turn back where asked."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportArgumentType=false, reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two
from stepprof.kernels.rope.kernel import partner, rotated


def merge(
    parts: torch.Tensor,
    peaks: torch.Tensor,
    masses: torch.Tensor,
    sink: torch.Tensor,
    dtype: torch.dtype,
    turn: tuple[torch.Tensor, torch.Tensor] | None,
) -> torch.Tensor:
    """parts [T, P, H, Dh], peaks and masses [T, P, H] -> [T, H, Dh]"""
    count, splits, heads, width = parts.shape
    out = torch.empty(count, heads, width, dtype=dtype, device=parts.device)
    table, positions = turn or (sink, sink)
    sizes = {"SPLITS": splits, "SPLITS_BLOCK": power_of_two(splits), "DH": width, "D_BLOCK": power_of_two(width)}
    sizes["R"] = 0 if turn is None else table.shape[1]
    arguments = (parts, peaks, masses, sink, table, positions, out)
    launch(merge_attn_states_kernel, (heads, count), parts, *arguments, **sizes, num_warps=2)
    return out


@triton.jit
def merge_attn_states_kernel(
    parts: typing.Any,
    peaks: typing.Any,
    masses: typing.Any,
    sink: typing.Any,
    table: typing.Any,
    positions: typing.Any,
    out: typing.Any,
    SPLITS: tl.constexpr,
    SPLITS_BLOCK: tl.constexpr,
    DH: tl.constexpr,
    D_BLOCK: tl.constexpr,
    R: tl.constexpr,
):
    head, heads, row = tl.program_id(0), tl.num_programs(0), tl.program_id(1).to(tl.int64)
    split, d = tl.arange(0, SPLITS_BLOCK), tl.arange(0, D_BLOCK)
    place = (row * SPLITS + split) * heads + head
    peak = tl.load(peaks + place, mask=split < SPLITS, other=float("-inf"))
    own = tl.load(sink + head).to(tl.float32)
    top = tl.maximum(tl.max(peak, 0), own)
    share = tl.exp(peak - top)
    mass = tl.sum(share * tl.load(masses + place, mask=split < SPLITS, other=0.0), 0) + tl.exp(own - top)

    inside = (split < SPLITS)[:, None] & (d < DH)[None, :]
    part = tl.load(parts + place[:, None] * DH + d[None, :], mask=inside, other=0.0)
    value = (tl.sum(part * share[:, None], 0) / mass).to(out.dtype.element_ty)
    if R > 0:
        turns = inside & (d >= DH - R)[None, :]
        part = tl.load(parts + place[:, None] * DH + partner(d, DH, R)[None, :], mask=turns, other=0.0)
        other = (tl.sum(part * share[:, None], 0) / mass).to(out.dtype.element_ty)
        position = tl.load(positions + row)
        turned = rotated(value.to(tl.float32), other.to(tl.float32), table, position, d, DH, R, True)
        value = turned.to(out.dtype.element_ty)
    tl.store(out + (row * heads + head) * DH + d, value, mask=d < DH)
