"""KV compression: one cache row out of `ratio` consecutive tokens, by a softmax over learned scores."""

import torch

from stepprof.kernels.backends import Backend, implementation


def pool(
    raw: torch.Tensor,
    bias: torch.Tensor,
    sequences: torch.Tensor,
    positions: torch.Tensor,
    *,
    backend: Backend = "auto",
) -> torch.Tensor:
    """The row of each token's group: [T, Dh] float32, meaningful where the token is the last of its group.

    raw [B, L, 2·Dh] of any float dtype: a ring of values, then scores, of each token, position p at p % L; bias [r, Dh] float32 is
    added to the scores of the group's members; sequences, positions [T] int64. The group of position p is
    p - p % r … p - p % r + r - 1, the softmax runs over its r members, channel by channel.
    """
    return implementation("compressor", backend, raw).pool(raw, bias, sequences, positions)
