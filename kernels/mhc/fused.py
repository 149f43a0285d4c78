"""From one sublayer to the next in one kernel: every program mixes a slice, the last of a row finishes the row.

Programs of a row count themselves in `tickets`; the one that comes last sees all slices (acquire, release) and
sums their shares of the logits in a fixed order, so the result does not depend on who was last.
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch, power_of_two, tickets
from stepprof.kernels.mhc.tiles import store_normed, store_post_weights

SLICE = 128  # columns of a program


def boundary(
    streams: torch.Tensor,
    out: torch.Tensor,
    post: torch.Tensor,
    comb: torch.Tensor,
    fn: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    iterations: int,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """-> streams [T, S, D], x [T, D], post [T, S], comb [T, S, S]"""
    count, number, width = streams.shape
    assert streams.is_contiguous() and out.is_contiguous(), f"{streams.stride()=} {out.stride()=}"
    outputs, slices = number * (number + 2), -(-width // SLICE)

    def floats(*shape: int) -> torch.Tensor:
        return torch.empty(shape, dtype=torch.float32, device=streams.device)

    new, x = torch.empty(streams.shape, dtype=streams.dtype, device=streams.device), torch.empty_like(out)
    results = (new, x, floats(count, number), floats(count, number, number))
    scratch = (floats(count, slices, power_of_two(outputs + 1)), floats(count, outputs), tickets("mhc", count, streams))
    arguments = (streams, out, post, comb, fn, scale, base, weight, *results, *scratch, eps)
    sizes = {"ITERATIONS": iterations, "S": number, "S_BLOCK": power_of_two(number), "D": width, "SLICE": SLICE}
    sizes |= {"D_BLOCK": power_of_two(width), "N_BLOCK": power_of_two(outputs + 1), "SLICES": power_of_two(slices)}
    launch(mhc_boundary_gemm_kernel, (slices, count), streams, *arguments, **sizes, num_warps=4)
    return results


@triton.jit
def mhc_boundary_gemm_kernel(
    streams: typing.Any,
    out: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    fn: typing.Any,
    scale: typing.Any,
    base: typing.Any,
    weight: typing.Any,
    new: typing.Any,
    x: typing.Any,
    new_post: typing.Any,
    new_comb: typing.Any,
    shares: typing.Any,
    logits: typing.Any,
    ticket: typing.Any,
    eps: typing.Any,
    ITERATIONS: tl.constexpr,
    S: tl.constexpr,
    S_BLOCK: tl.constexpr,
    D: tl.constexpr,
    SLICE: tl.constexpr,
    D_BLOCK: tl.constexpr,
    N_BLOCK: tl.constexpr,
    SLICES: tl.constexpr,
):
    row, slices = tl.program_id(1).to(tl.int64), tl.num_programs(0)
    share = _mix_slice(streams, out, post, comb, fn, new, row, S, D, SLICE, N_BLOCK)
    output = tl.arange(0, N_BLOCK)
    tl.store(shares + (row * slices + tl.program_id(0)) * N_BLOCK + output, share)

    tl.debug_barrier()  # all of this program's writes come before its count
    if tl.atomic_add(ticket + row, 1, sem="acq_rel", scope="gpu") == slices - 1:
        tl.store(ticket + row, 0)
        at = tl.arange(0, SLICES)[:, None]
        all_shares = tl.load(
            shares + (row * slices + at) * N_BLOCK + output[None, :], mask=at < slices, other=0.0, cache_modifier=".cg"
        )
        total = tl.sum(all_shares, 0)  # [N_BLOCK], the square last
        square = tl.sum(tl.where(output == S * (S + 2), total, 0.0), 0)
        scaled = total * tl.rsqrt(square / (S * D) + eps)
        tl.store(logits + row * (S * (S + 2)) + output, scaled, mask=output < S * (S + 2))
        tl.debug_barrier()
        store_normed(new, logits, scale, base, weight, x, row, eps, S, D, D_BLOCK)
        store_post_weights(logits, scale, base, new_post, new_comb, row, eps, ITERATIONS, S, S_BLOCK)


@triton.jit
def _mix_slice(
    streams: typing.Any,
    out: typing.Any,
    post: typing.Any,
    comb: typing.Any,
    fn: typing.Any,
    new: typing.Any,
    row: typing.Any,
    S: tl.constexpr,
    D: tl.constexpr,
    SLICE: tl.constexpr,
    N_BLOCK: tl.constexpr,
):
    """Write the slice's new streams; return its share of the logits and, after them, of the square: [N_BLOCK]."""
    at = tl.program_id(0) * SLICE + tl.arange(0, SLICE)
    inside = at < D
    output = tl.arange(0, N_BLOCK)[:, None]
    answer = tl.load(out + row * D + at, mask=inside, other=0.0).to(tl.float32)
    dots, square = tl.zeros([N_BLOCK, SLICE], tl.float32), tl.zeros([SLICE], tl.float32)
    for j in tl.static_range(S):
        value = tl.load(post + row * S + j) * answer
        for i in tl.static_range(S):
            old = tl.load(streams + (row * S + i) * D + at, mask=inside, other=0.0).to(tl.float32)
            value += tl.load(comb + (row * S + i) * S + j) * old
        rounded = value.to(new.dtype.element_ty)
        tl.store(new + (row * S + j) * D + at, rounded, mask=inside)
        value = rounded.to(tl.float32)
        weights = tl.load(
            fn + output * (S * D) + j * D + at[None, :], mask=(output < S * (S + 2)) & inside[None, :], other=0.0
        )
        dots += weights * value[None, :]
        square += value * value
    return tl.where(tl.arange(0, N_BLOCK) == S * (S + 2), tl.sum(square, 0), tl.sum(dots, 1))
