"""Which experts a row goes to: sqrt-softplus scores, a selection bias, the best A, renormalised."""

import torch

from stepprof.kernels.backends import Backend, implementation


def route(
    logits: torch.Tensor, bias: torch.Tensor, top_k: int, scale: float, *, backend: Backend = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    """(weights [T, A] float32, experts [T, A] int32) with A = top_k, best first.

    logits [T, E]; bias [E] float32 shifts the choice, never the weights: the score is sqrt(softplus(logit)), experts
    are chosen by score + bias, weights are chosen scores · scale / their sum. Equal choices: the lower expert first.
    """
    return implementation("router", backend, logits).route(logits, bias, top_k, scale)
