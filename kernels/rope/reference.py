"""Rotary positions, the truth."""

import torch

from stepprof.kernels.add_rms_norm.reference import rms_norm


def rope(x: torch.Tensor, table: torch.Tensor, positions: torch.Tensor, inverse: bool) -> torch.Tensor:
    """x [T, H, Dh], table [L, R], positions [T] -> [T, H, Dh]"""
    cos, sin = table[positions][:, None].chunk(2, dim=-1)  # [T, 1, R/2] each
    sin = -sin if inverse else sin
    plain, turned = x.float().split([x.shape[-1] - table.shape[1], table.shape[1]], dim=-1)
    a, b = turned[..., 0::2], turned[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([plain, turned], dim=-1).to(x.dtype)


def norm_rope(
    x: torch.Tensor, weight: torch.Tensor | None, table: torch.Tensor, positions: torch.Tensor, eps: float
) -> torch.Tensor:
    """x [T, H, Dh] -> [T, H, Dh]"""
    return rope(rms_norm(x.float(), weight, eps), table, positions, False).to(x.dtype)
