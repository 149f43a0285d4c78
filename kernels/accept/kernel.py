"""Acceptance for the GPU: two kernels each, one over tiles of the vocabulary, one that decides for a sequence.

`sample`, `token_wise` and `block` share them: tiles sum what a new token would be drawn from after each prefix,
max(reach · p - q, 0); the second kernel picks the prefix, then the token. peak.py holds the rest.
"""

import torch

from stepprof.kernels.accept.draw import accept_resample_kernel, residual_mass_kernel
from stepprof.kernels.accept.peak import distribution, greedy
from stepprof.kernels.launch import launch, power_of_two

__all__ = ["block", "distribution", "greedy", "sample", "token_wise"]
BACKEND = "triton"
TILE = 2048  # tokens of a program


def token_wise(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], draft [B, k, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    return _verify(target, draft, drafts, accept_draws, sample_draw, block=False)


def block(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """target [B, k+1, V], draft [B, k, V], drafts [B, k] -> accepted [B], tokens [B, k+1]"""
    return _verify(target, draft, drafts, accept_draws, sample_draw, block=True)


def sample(probs: torch.Tensor, draw: torch.Tensor) -> torch.Tensor:
    """probs [N, V], draw [N] -> [N]"""
    none = draw.new_zeros(0)
    _, tokens = _verify(probs[:, None], none, none.long(), none, draw, block=False)
    return tokens[:, 0]


def _verify(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
    *,
    block: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    batch, prefixes, vocab = target.shape
    given = (target.contiguous(), draft.contiguous(), drafts.contiguous())
    tiles = -(-vocab // TILE)
    sums = torch.empty(batch, prefixes, tiles, dtype=torch.float64, device=target.device)
    accepted = torch.empty(batch, dtype=torch.int32, device=target.device)
    tokens = torch.empty(batch, prefixes, dtype=torch.int64, device=target.device)
    sizes = {"K": prefixes - 1, "V": vocab, "TILE": TILE, "BLOCK": block}
    launch(residual_mass_kernel, (tiles, prefixes, batch), target, *given, sums, **sizes, num_warps=4)
    sizes |= {"TILES": tiles, "TILES_BLOCK": power_of_two(tiles), "P_BLOCK": power_of_two(prefixes)}
    arguments = (*given, accept_draws.contiguous(), sample_draw.contiguous(), sums, accepted, tokens)
    launch(accept_resample_kernel, (batch,), target, *arguments, **sizes, num_warps=8)
    return accepted, tokens
