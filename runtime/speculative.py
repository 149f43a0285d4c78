"""Verification of a drafted block: which drafts are kept, and the token after them.

    accepted, tokens = verify(options, logits, drafts, probs, draws, temperature)

Greedy keeps drafts while they are the argmax. `token` is token-wise rejection sampling, `block` block verification;
both give the target's distribution. Every round takes its own uniforms from one stream of random numbers that is
seeded once, so no draw is ever used in two rounds, and a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import torch

from stepprof.kernels import accept
from stepprof.runtime.options import Options


@dataclass
class Draws:
    """Uniform numbers of one round, in place: a captured graph reads the same memory every time."""

    draft: torch.Tensor  # [B, k] picks the drafts
    accept: torch.Tensor  # [B, k] decides on them
    sample: torch.Tensor  # [B] picks the token after them
    simulate: torch.Tensor  # [B] imposes how many are kept
    every: torch.Tensor  # all of the above, in one piece
    generator: torch.Generator

    @classmethod
    def make(cls, options: Options) -> Draws:
        """Zeros; `refill` before each round."""
        batch, k, device = options.batch, options.k, options.device
        every = torch.zeros(2 * batch * (k + 1), device=device)
        draft, accept, sample, simulate = every.split([batch * k, batch * k, batch, batch])
        generator = torch.Generator(device).manual_seed(options.seed)
        return cls(draft.view(batch, k), accept.view(batch, k), sample, simulate, every, generator)

    def refill(self) -> None:
        """Fresh numbers; whatever else a round draws comes from the same generator."""
        self.every.uniform_(generator=self.generator)


def verify(
    options: Options,
    logits: torch.Tensor,
    drafts: torch.Tensor,
    probs: torch.Tensor,
    draws: Draws,
    temperature: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(accepted [B] int32, tokens [B, k+1]): logits [B, k+1, V], drafts [B, k], probs [B, k, V], temperature [B]."""
    match options.sampling:
        case "greedy":
            return accept.greedy(logits, drafts)
        case "token":
            target = accept.distribution(logits, temperature)
            return accept.token_wise(target, probs, drafts, draws.accept, draws.sample)
        case "block":
            target = accept.distribution(logits, temperature)
            return accept.block(target, probs, drafts, draws.accept, draws.sample)
        case _:
            assert_never(options.sampling)


def impose(
    acceptance: torch.Tensor, drafts: torch.Tensor, tokens: torch.Tensor, draw: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Simulated acceptance: keep as many drafts as one draw says; acceptance [k] is P(first i kept), draw [B].

    The token after them is the one that was verified there where the true round got as far, else the draft.
    """
    accepted = (draw[:, None] < acceptance).sum(1, dtype=torch.int32)  # [B]
    place, at = torch.arange(tokens.shape[1], device=tokens.device), accepted[:, None]
    padded = torch.cat([drafts, drafts[:, -1:]], dim=1)  # [B, k+1]
    after = torch.where(tokens >= 0, tokens, padded)
    return accepted, torch.where(place < at, padded, torch.where(place == at, after, -1))
