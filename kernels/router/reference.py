"""Routing, the truth."""

import torch


def route(logits: torch.Tensor, bias: torch.Tensor, top_k: int, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """logits [T, E], bias [E] -> weights [T, A], experts [T, A]"""
    scores = torch.nn.functional.softplus(logits.float()).sqrt()
    chosen = (scores + bias).sort(dim=1, descending=True, stable=True).indices[:, :top_k]  # [T, A]
    weights = scores.gather(1, chosen)
    return weights * (scale / weights.sum(1, keepdim=True)), chosen.int()
