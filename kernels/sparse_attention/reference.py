"""Sparse latent attention, the truth."""

import torch

from stepprof.kernels.rope.reference import rope


def sparse_attention(
    q: torch.Tensor,
    window: torch.Tensor,
    rows: torch.Tensor | None,
    table: torch.Tensor | None,
    sequences: torch.Tensor,
    last: torch.Tensor,
    sink: torch.Tensor,
    span: int,
    scale: float,
    turn: tuple[torch.Tensor, torch.Tensor] | None,
) -> torch.Tensor:
    """q [T, H, Dh] -> [T, H, Dh]"""
    seen = last[:, None] - torch.arange(span, device=q.device)  # [T, span] positions
    keys = window[sequences[:, None], seen % window.shape[1]].float()  # [T, span, Dh]
    valid = seen >= 0
    if rows is not None and table is not None:
        keys = torch.cat([keys, rows[table.clamp_min(0).long()].float()], dim=1)  # [T, span + K, Dh]
        valid = torch.cat([valid, table >= 0], dim=1)

    keys = keys.masked_fill(~valid[..., None], 0)  # a slot never written may hold anything
    logits = (q.float() @ keys.transpose(1, 2) * scale).masked_fill(~valid[:, None], float("-inf"))
    sinks = sink.float()[None, :, None].expand(len(q), -1, 1)
    weights = torch.cat([logits, sinks], dim=2).softmax(-1)[..., :-1]  # [T, H, span + K]
    out = (weights @ keys).to(q.dtype)
    return out if turn is None else rope(out, turn[0], turn[1], True)
