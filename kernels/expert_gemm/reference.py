"""Expert GEMMs, the truth. Gathers copies of the weights, which a kernel must not."""

import torch


def up_gate(
    x: torch.Tensor, slots: torch.Tensor, w_in: torch.Tensor, limit: float, count: torch.Tensor | None
) -> torch.Tensor:
    """x [T, D], slots [T, A], w_in [E, 2·I, D] -> [T, A, I]"""
    both = torch.einsum("td,tand->tan", x.float(), _gather(w_in, slots))  # [T, A, 2·I]
    gate, up = both.chunk(2, dim=-1)
    h = torch.nn.functional.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)
    return torch.where(_used(slots, count), h, 0).to(x.dtype)


def down(
    h: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor, w_out: torch.Tensor, count: torch.Tensor | None
) -> torch.Tensor:
    """h [T, A, I], w_out [E, D, I] -> [T, A, D]"""
    parts = torch.einsum("tai,tadi->tad", h.float(), _gather(w_out, slots))
    return torch.where(_used(slots, count), parts * weights[..., None], 0)


def reduce(
    parts: torch.Tensor, dtype: torch.dtype, add: torch.Tensor | None, count: torch.Tensor | None
) -> torch.Tensor:
    """[T, A, D] -> [T, D]"""
    total = torch.zeros_like(parts[:, 0])
    for part in parts.unbind(1):
        total = total + part
    return (total if add is None else total + add.float()).to(dtype)


def down_atomic(
    h: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor, w_out: torch.Tensor, count: torch.Tensor | None
) -> torch.Tensor:
    """-> [T, D]"""
    return down(h, slots, weights, w_out, count).sum(1)


def _gather(bank: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """[E, N, M] -> [T, A, N, M]"""
    return bank[slots.clamp_min(0).long()].float()


def _used(slots: torch.Tensor, count: torch.Tensor | None) -> torch.Tensor:
    """Which (row, expert) pairs are computed: [T, A, 1]"""
    used = slots >= 0
    if count is not None:
        used = used & (torch.arange(len(slots), device=slots.device)[:, None] < count)
    return used[..., None]
