"""Rotary positions on the last dimensions of each head, forward and inverse, and with an RMSNorm before them."""

import torch

from stepprof.kernels.backends import Backend, implementation


def rope(
    x: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    *,
    inverse: bool = False,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Turn the last R dimensions of each head: x [T, H, Dh], table [L, R] float32, positions [T] int64 -> [T, H, Dh].

    Interleaved pairs (2i, 2i+1) turn by the angle whose cosine is table[p, i] and whose sine is table[p, R/2 + i];
    `inverse` turns back. The first Dh - R dimensions pass through. The result is new and contiguous.
    """
    return implementation("rope", backend, x).rope(x, table, positions, inverse)


def norm_rope(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    table: torch.Tensor,
    positions: torch.Tensor,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> torch.Tensor:
    """RMSNorm of each head, weight [Dh] or None, then `rope`, in one kernel: x [T, H, Dh] -> [T, H, Dh] in x's dtype.

    Rows of x may be strided; nothing is rounded between the two.
    """
    return implementation("rope", backend, x).norm_rope(x, weight, table, positions, eps)


def rope_table(length: int, rope_dim: int, theta: float = 10_000.0) -> torch.Tensor:
    """Cosines, then sines, of every position: [length, rope_dim] float32."""
    steps = torch.arange(0, rope_dim, 2, dtype=torch.float64) / rope_dim
    angles = torch.arange(length, dtype=torch.float64)[:, None] * theta**-steps  # [L, R/2]
    return torch.cat([angles.cos(), angles.sin()], dim=1).float()
