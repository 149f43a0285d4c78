"""Hot and cold rows, the truth."""

import torch


def split(
    x: torch.Tensor,
    weights: torch.Tensor,
    experts: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    out: tuple[torch.Tensor, ...] | None,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """x [T, D], weights and experts [T, A] -> hot slots [T, A], (x, slots, weights, rows, held)"""
    cold = cold_slot[experts.long()]  # [T, A]
    is_cold = (cold >= 0).any(1)  # [T]
    order = is_cold.int().sort(stable=True, descending=True).indices  # cold rows first, old order kept
    rows = torch.where(is_cold[order], order, -1).int()
    held = is_cold.sum(dtype=torch.int32)[None]
    parts = (x[order], cold[order], weights[order], rows, held)
    if out is not None:
        parts = tuple(place.copy_(part) for place, part in zip(out, parts, strict=True))
    return hot_slot[experts.long()], parts


def add_rows(out: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """out [T, D], y [T, D], rows [T] -> [T, D]"""
    held = rows >= 0
    answers = torch.where(held[:, None], y.float(), 0)
    return out.float().index_add(0, rows.clamp_min(0).long(), answers).to(out.dtype)


def impose(experts: torch.Tensor, cold: torch.Tensor, hot_list: torch.Tensor, cold_list: torch.Tensor) -> torch.Tensor:
    """experts [T, A], cold [T] -> [T, A]"""
    column = torch.arange(experts.shape[1], device=experts.device)
    hot = hot_list[(experts + column).long() % len(hot_list)]
    forced = cold_list[experts[:, -1:].long() % len(cold_list)]  # [T, 1]
    return torch.where(cold[:, None] & (column == experts.shape[1] - 1), forced, hot)
