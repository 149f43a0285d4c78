"""Sparse index, the truth."""

import torch


def index_logits(
    q: torch.Tensor, keys: torch.Tensor, weights: torch.Tensor, sequences: torch.Tensor, visible: torch.Tensor
) -> torch.Tensor:
    """q [T, Hi, Di], keys [B, C, Di], weights [T, Hi] -> [T, C]"""
    dots = torch.einsum("thd,tcd->thc", q.float(), keys.float()[sequences]).relu()  # [T, Hi, C]
    scores = torch.einsum("thc,th->tc", dots, weights.float())
    rows = torch.arange(keys.shape[1], device=q.device)
    return scores.masked_fill(rows >= visible[:, None], float("-inf"))


def top_k(logits: torch.Tensor, k: int) -> torch.Tensor:
    """[T, C] -> [T, k]"""
    padded = torch.nn.functional.pad(logits, (0, max(0, k - logits.shape[1])), value=float("-inf"))
    scores, rows = padded.topk(k, dim=1)
    return torch.where(scores > float("-inf"), rows, -1).int()


def build_table(chosen: torch.Tensor, sequences: torch.Tensor, capacity: int) -> torch.Tensor:
    """[T, K] -> [T, K]"""
    return torch.where(chosen >= 0, chosen + sequences[:, None] * capacity, -1).int()
