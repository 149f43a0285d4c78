"""Dense GEMM of a few rows, with its tactic open: how the weights are divided into tiles, and over how many programs.

    y = linear(x, w)                                   # x [T, K], w [N, K] -> [T, N] in x's dtype
    y = linear(x, w, Tactic(32, 256, split_k=4))       # a sum over K in 4 parts, added up in order by a second kernel

At most 16 rows. `tactics()` are those that `stepprof bench gemm` tries.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from stepprof.kernels.backends import Backend, implementation

MAX_ROWS = 16


@dataclass(frozen=True, slots=True)
class Tactic:
    """Powers of two: a tile is block_n rows of w by block_k of its columns; K is summed in split_k parts."""

    block_n: int = 32
    block_k: int = 128
    split_k: int = 1
    warps: int = 4
    stages: int = 3

    def __str__(self) -> str:
        return f"{self.block_n}x{self.block_k} k{self.split_k} w{self.warps} s{self.stages}"


def tactics() -> tuple[Tactic, ...]:
    """Tiles that keep 10 to 64 KiB of weights in flight, each whole, in two and in four parts of K."""
    tiles = ((16, 128, 4, 4), (16, 256, 4, 3), (32, 128, 4, 4), (32, 256, 8, 3), (64, 128, 4, 3))
    return tuple(Tactic(n, k, split, warps, stages) for n, k, warps, stages in tiles for split in (1, 2, 4))


def linear(
    x: torch.Tensor, w: torch.Tensor, tactic: Tactic | None = None, *, backend: Backend = "auto"
) -> torch.Tensor:
    """x [T, K] times w [N, K] transposed: [T, N] in x's dtype, summed in float32; T is at most 16."""
    assert len(x) <= MAX_ROWS and x.shape[1] == w.shape[1], f"{x.shape=} {w.shape=}"
    return implementation("dense_gemm", backend, x).linear(x, w, tactic or Tactic())
