"""Acceptance, the truth."""

import torch


def greedy(target: torch.Tensor, drafts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    best = target.argmax(-1)  # [B, k+1]
    accepted = _leading(best[:, :-1] == drafts)
    return accepted, _emit(accepted, drafts, best.gather(1, accepted[:, None].long())[:, 0])


def token_wise(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], draft [B, k, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    p, q = _chosen(target[:, :-1], drafts), _chosen(draft, drafts)  # [B, k]
    accepted = _leading(accept_draws * q < p)
    factor = torch.ones_like(target[:, :, :1])  # [B, k+1, 1]
    return accepted, _emit(accepted, drafts, sample(_left(target, draft, factor, accepted), sample_draw))


def block(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], draft [B, k, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    ratio = _chosen(target[:, :-1], drafts) / _chosen(draft, drafts)  # [B, k]
    reach = [torch.ones_like(sample_draw)]  # P(prefix i may be kept), i = 0 … k
    for i in range(drafts.shape[1]):
        reach.append((reach[-1] * ratio[:, i]).clamp(max=1))
    factor = torch.stack(reach, dim=1)[..., None]  # [B, k+1, 1]

    # keep prefix i < k with mass / (mass + 1 - reach), where mass is what is left to resample after it
    mass = (factor[:, :-1] * target[:, :-1] - draft).clamp_min(0).sum(-1)  # [B, k], of prefixes 0 … k-1
    passing = torch.where(factor[:, :-1, 0] < 1, mass / (mass + 1 - factor[:, :-1, 0]), 1.0)
    keep = torch.cat([passing[:, 1:], factor[:, -1:, 0]], dim=1)[:, : drafts.shape[1]]  # [B, k], of prefixes 1 … k
    number = torch.arange(1, drafts.shape[1] + 1, device=drafts.device)
    accepted = torch.where(accept_draws < keep, number, 0).amax(1).int() if len(number) else _leading(drafts < 0)
    return accepted, _emit(accepted, drafts, sample(_left(target, draft, factor, accepted), sample_draw))


def sample(probs: torch.Tensor, draw: torch.Tensor) -> torch.Tensor:
    """probs [N, V], draw [N] -> [N]"""
    # in float64, so that a token whose probability is 0 is not reached through rounding
    total = probs.double().cumsum(-1)  # [N, V]
    token = torch.searchsorted(total, (draw.double() * total[:, -1])[:, None], right=True)[:, 0]
    last = (probs > 0).int().cumsum(-1).argmax(-1)  # the last token that may be drawn
    return torch.minimum(token, last)


def distribution(logits: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """logits [B, n, V], temperature [B] -> [B, n, V]"""
    heat = temperature[:, None, None]
    best = torch.zeros_like(logits, dtype=torch.float32).scatter(2, logits.argmax(2, keepdim=True), 1)
    return torch.where(heat > 0, (logits.float() / heat.clamp_min(1e-6)).softmax(2), best)


def _chosen(probs: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """[B, k, V], [B, k] -> [B, k]"""
    return probs.gather(2, tokens[..., None])[..., 0]


def _leading(passed: torch.Tensor) -> torch.Tensor:
    """How many of the first entries hold without a break: [B, k] -> [B]"""
    return passed.int().cumprod(1).sum(1, dtype=torch.int32)


def _left(target: torch.Tensor, draft: torch.Tensor, factor: torch.Tensor, accepted: torch.Tensor) -> torch.Tensor:
    """What the new token is drawn from: max(factor · p - q, 0) after a rejection, p after the last draft; [B, V]"""
    padded = torch.nn.functional.pad(draft, (0, 0, 0, 1))  # q = 0 after the last draft
    scaled = torch.cat([factor[:, :-1], torch.ones_like(factor[:, -1:])], dim=1) * target
    at = accepted.long()[:, None, None].expand(-1, 1, target.shape[2])
    return (scaled - padded).clamp_min(0).gather(1, at)[:, 0]


def _emit(accepted: torch.Tensor, drafts: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Kept drafts, then the new token, then -1: [B, k+1]"""
    padded = torch.nn.functional.pad(drafts, (0, 1))
    place = torch.arange(padded.shape[1], device=drafts.device)
    at = accepted[:, None]
    return torch.where(place < at, padded, torch.where(place == at, new[:, None], -1))
