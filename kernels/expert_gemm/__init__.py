"""Gather-GEMM over experts: each row reads the weights of its own experts where they lie, no copy first.

    h = up_gate(x, slots, w_in)                      SwiGLU of the up and gate projections
    y = reduce(down(h, slots, weights, w_out))       ordered: the sum runs over a row's experts in column order
    y = down_atomic(h, slots, weights, w_out)        one kernel, but the order of the sum is free

A slot of -1 is no expert: nothing is read for it and it adds nothing. `count` [1] int32, where given, says how many
rows are held; rows beyond it are skipped, so that a call without rows costs only its launch.
"""

from typing import Literal

import torch

from stepprof.kernels.backends import Backend, implementation

Reduce = Literal["ordered", "atomic"]


def up_gate(
    x: torch.Tensor,
    slots: torch.Tensor,
    w_in: torch.Tensor,
    *,
    limit: float = 10.0,
    count: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """silu(min(gate, limit)) · clamp(up, -limit, limit): [T, A, I] in x's dtype, 0 where the slot is -1.

    x [T, D]; slots [T, A] int32; w_in [E, 2·I, D], gate rows first, then up rows. Rows beyond `count` are undefined.
    """
    return implementation("expert_gemm", backend, x).up_gate(x, slots, w_in, limit, count)


def down(
    h: torch.Tensor,
    slots: torch.Tensor,
    weights: torch.Tensor,
    w_out: torch.Tensor,
    *,
    count: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Each expert's weighted answer: weights[t, a] · w_out[slot] · h[t, a] -> [T, A, D] float32, 0 where slot is -1.

    h [T, A, I]; slots [T, A] int32; weights [T, A] float32; w_out [E, D, I]. Rows beyond `count` are undefined.
    """
    return implementation("expert_gemm", backend, h).down(h, slots, weights, w_out, count)


def reduce(
    parts: torch.Tensor,
    dtype: torch.dtype,
    *,
    add: torch.Tensor | None = None,
    count: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Sum over a row's experts in column order, plus `add` [T, D] at the end: parts [T, A, D] float32 -> [T, D].

    The sum is taken in float32. Rows beyond `count` are undefined.
    """
    return implementation("expert_gemm", backend, parts).reduce(parts, dtype, add, count)


def down_atomic(
    h: torch.Tensor,
    slots: torch.Tensor,
    weights: torch.Tensor,
    w_out: torch.Tensor,
    *,
    count: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """`down` and `reduce` in one, the sum in any order: -> [T, D] float32, rows without an expert 0."""
    return implementation("expert_gemm", backend, h).down_atomic(h, slots, weights, w_out, count)
