"""Norm, rope and cache write before attention, the truth."""

import torch

from stepprof.kernels.add_rms_norm.reference import rms_norm
from stepprof.kernels.rope.reference import rope


def attn_front(
    q: torch.Tensor,
    latent: torch.Tensor,
    latent_weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """q [T, H, Dh], latent [T, Dh] -> [T, H, Dh]; writes window [B, W, Dh]"""
    turned = rope(rms_norm(latent.float(), latent_weight, eps)[:, None], table, positions, False)[:, 0]
    window[sequences, positions % window.shape[1]] = turned.to(window.dtype)
    return rope(rms_norm(q.float(), None, eps), table, positions, False).to(q.dtype)
