"""Residual add and RMSNorm, the truth."""

import torch

GROUP = 128
LARGEST = 448.0  # of float8_e4m3fn


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """x [..., D] -> [..., D]"""
    return _norm(x.float(), weight, eps).to(x.dtype)


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """x, residual [T, D] -> normed [T, D], sum [T, D]"""
    total = x.float() + residual.float()
    return _norm(total, weight, eps).to(x.dtype), total.to(x.dtype)


def add_rms_norm_quant(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x, residual [T, D] -> q [T, D], scale [T, G], sum [T, D]"""
    total = x.float() + residual.float()
    normed = _norm(total, weight, eps)
    padded = torch.nn.functional.pad(normed, (0, -normed.shape[1] % GROUP)).unflatten(1, (-1, GROUP))  # [T, G, 128]
    peak = padded.abs().amax(2)
    scale = torch.where(peak > 0, peak / LARGEST, 1.0)
    q = (padded / scale[..., None]).clamp(-LARGEST, LARGEST).flatten(1)[:, : normed.shape[1]]
    return q.to(torch.float8_e4m3fn), scale, total.to(x.dtype)


def _norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    return normed if weight is None else normed * weight.float()
