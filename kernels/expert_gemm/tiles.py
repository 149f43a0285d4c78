"""How the expert GEMM divides its work, and the products of a tile.

A tile is N_BLOCK weight rows of K elements, read whole: each warp reads runs of at least 512 bytes, a program 16 KiB
with all its loads in flight at once where K allows.
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportGeneralTypeIssues=false

import typing
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import multiprocessors, power_of_two

ELEMENTS = 8192  # weights of a tile
PROGRAMS = 16  # programs for each multiprocessor, at most


@dataclass(frozen=True)
class Tiles:
    """n weight rows of k elements in tiles of n_block rows, read k_block elements at a time."""

    n: int
    n_block: int
    k: int
    k_block: int

    @classmethod
    def of(cls, n: int, k: int, *, matrices: int) -> "Tiles":
        """The reading width that wastes least lanes, as many rows as make up a tile."""
        widths = (2048, 1024, 512, 256, 128, 64)
        k_block = min(widths, key=lambda width: -(-k // width) * (width + 64))
        rows = power_of_two(ELEMENTS // (matrices * power_of_two(k)))
        return cls(n, min(rows, 32, power_of_two(n)), k, k_block)

    def grid(self, like: torch.Tensor, pairs: int) -> tuple[int]:
        """Programs: one a tile, or as many as keep the card full."""
        return (min(pairs * -(-self.n // self.n_block), PROGRAMS * multiprocessors(like)),)

    def sizes(self, rows: int, top_k: int) -> dict[str, int]:
        """The constants of a kernel."""
        pairs = power_of_two(rows * top_k)
        return {
            "A": top_k,
            "PAIRS": pairs,
            "N": self.n,
            "N_BLOCK": self.n_block,
            "K": self.k,
            "K_BLOCK": self.k_block,
        }


@triton.jit
def slot_of(slots: typing.Any, count: typing.Any, pair: typing.Any, A: tl.constexpr):
    """The slot of a pair; -1 without an expert, -2 in a row that is not held."""
    slot = tl.load(slots + pair)
    if count is not None:
        slot = tl.where(pair // A < tl.load(count), slot, -2)
    return slot


@triton.jit
def slots_of_all(slots: typing.Any, count: typing.Any, pairs: typing.Any, A: tl.constexpr, PAIRS: tl.constexpr):
    """The slots of all pairs, negative where nothing is computed: [PAIRS]."""
    at = tl.arange(0, PAIRS)
    every = tl.load(slots + at, mask=at < pairs, other=-1)
    if count is not None:
        every = tl.where(at // A < tl.load(count), every, -2)
    return every


@triton.jit
def each_user(every: typing.Any, slot: typing.Any, after: typing.Any, PAIRS: tl.constexpr):
    """The first pair past `after` that uses this slot; PAIRS where there is none, or no slot."""
    at = tl.arange(0, PAIRS)
    return tl.min(tl.where((every == slot) & (at > after) & (slot >= 0), at, PAIRS), 0)


@triton.jit
def dots(
    matrix: typing.Any, vector: typing.Any, n: typing.Any, N: tl.constexpr, K: tl.constexpr, K_BLOCK: tl.constexpr
):
    """Rows n of matrix [N, K] times vector [K]: [N_BLOCK] float32."""
    total = tl.zeros([n.shape[0], K_BLOCK], tl.float32)
    for start in tl.static_range(0, K, K_BLOCK):
        k = start + tl.arange(0, K_BLOCK)
        mask = (n < N)[:, None] & (k < K)[None, :]
        value = tl.load(vector + k, mask=k < K, other=0.0).to(tl.float32)
        total += tl.load(matrix + n[:, None] * K + k[None, :], mask=mask, other=0.0).to(tl.float32) * value[None, :]
    return tl.sum(total, 1)


@triton.jit
def dots_of_two(
    a: typing.Any,
    b: typing.Any,
    vector: typing.Any,
    n: typing.Any,
    N: tl.constexpr,
    K: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    """As `dots` for two matrices, so that the loads of both are in flight together."""
    total_a = tl.zeros([n.shape[0], K_BLOCK], tl.float32)
    total_b = tl.zeros([n.shape[0], K_BLOCK], tl.float32)
    for start in tl.static_range(0, K, K_BLOCK):
        k = start + tl.arange(0, K_BLOCK)
        mask = (n < N)[:, None] & (k < K)[None, :]
        at = n[:, None] * K + k[None, :]
        row_a, row_b = tl.load(a + at, mask=mask, other=0.0), tl.load(b + at, mask=mask, other=0.0)
        value = tl.load(vector + k, mask=k < K, other=0.0).to(tl.float32)[None, :]
        total_a += row_a.to(tl.float32) * value
        total_b += row_b.to(tl.float32) * value
    return tl.sum(total_a, 1), tl.sum(total_b, 1)
