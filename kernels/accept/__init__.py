"""Which drafted tokens are kept, and the token after them.

All three take one round of B sequences with k drafted tokens and return (accepted [B] int32, tokens [B, k+1] int64):
tokens[b, :accepted[b]] are kept drafts, tokens[b, accepted[b]] is the new one, -1 follows.
Uniform draws in [0, 1) come from the caller, fresh for every round: `accept_draws` [B, k] decide on the drafts,
`sample_draw` [B] picks the new token by inverting the cumulative sum of its distribution.
"""

import torch

from stepprof.kernels.backends import Backend, implementation


def greedy(
    target: torch.Tensor, drafts: torch.Tensor, *, backend: Backend = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Keep drafts while each is the argmax: target logits [B, k+1, V], drafts [B, k] int64. Ties: the lower token."""
    return implementation("accept", backend, target).greedy(target, drafts)


def token_wise(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
    *,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Keep draft i while draw < p/q (Leviathan et al., arXiv 2211.17192); else resample from max(p - q, 0).

    target p [B, k+1, V], draft q [B, k, V] float32 distributions; drafts [B, k] int64.
    """
    return implementation("accept", backend, target).token_wise(target, draft, drafts, accept_draws, sample_draw)


def block(
    target: torch.Tensor,
    draft: torch.Tensor,
    drafts: torch.Tensor,
    accept_draws: torch.Tensor,
    sample_draw: torch.Tensor,
    *,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Block verification (Sun et al., arXiv 2403.10444): keep the longest prefix whose own draw passes.

    Same output distribution as `token_wise`, never fewer kept tokens in expectation. Shapes as there.
    """
    return implementation("accept", backend, target).block(target, draft, drafts, accept_draws, sample_draw)


def sample(probs: torch.Tensor, draw: torch.Tensor, *, backend: Backend = "auto") -> torch.Tensor:
    """Invert the cumulative sum: probs [N, V] float32, need not sum to 1, draw [N] in [0, 1) -> [N] int64."""
    return implementation("accept", backend, probs).sample(probs, draw)


def distribution(logits: torch.Tensor, temperature: torch.Tensor, *, backend: Backend = "auto") -> torch.Tensor:
    """softmax(logits / temperature), or all weight on the argmax where temperature is 0.

    logits [B, n, V] of any float dtype, temperature [B] float32 -> [B, n, V] float32. Ties: the lower token.
    """
    return implementation("accept", backend, logits).distribution(logits, temperature)
