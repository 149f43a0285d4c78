"""Gate, routing and split together, the truth."""

import torch

from stepprof.kernels.compact.reference import split
from stepprof.kernels.router.reference import route


def moe_front(
    x: torch.Tensor,
    gate: torch.Tensor,
    bias: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    top_k: int,
    scale: float,
    out: tuple[torch.Tensor, ...] | None,
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """x [T, D], gate [E, D] -> weights [T, A], hot slots [T, A], cold rows"""
    weights, experts = route(x.float() @ gate.float().T, bias, top_k, scale)
    hot, cold = split(x, weights, experts, hot_slot, cold_slot, out)
    return weights, hot, cold
