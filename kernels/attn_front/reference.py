"""Norm, rope and cache write before attention, the truth."""

import torch

from stepprof.kernels.rope.reference import norm_rope


def latent_insert(
    latent: torch.Tensor,
    weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    eps: float,
) -> None:
    """latent [T, Dh] -> rows of window [B, W, Dh]"""
    turned = norm_rope(latent[:, None], weight, table, positions, eps)[:, 0]
    window[sequences, positions % window.shape[1]] = turned.to(window.dtype)


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
    latent_insert(latent, latent_weight, table, positions, sequences, window, eps)
    return norm_rope(q, None, table, positions, eps)
