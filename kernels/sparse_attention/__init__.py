"""Decode attention with one latent KV head: a sliding window and the rows a table chose.

Keys and values are the same latent rows. All rows of a step (six for k = 5) go in one call.
"""

import torch

from stepprof.kernels.backends import Backend, implementation


def sparse_attention(
    q: torch.Tensor,
    window: torch.Tensor,
    rows: torch.Tensor | None,
    table: torch.Tensor | None,
    sequences: torch.Tensor,
    last: torch.Tensor,
    sink: torch.Tensor,
    *,
    span: int,
    scale: float,
    turn: tuple[torch.Tensor, torch.Tensor] | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Softmax over window rows, chosen rows and a sink without value -> [T, H, Dh] in q's dtype.

    q [T, H, Dh]; window [B, W, Dh], a ring: position p lies at p % W; a query sees positions last - span + 1 … last
    that are >= 0 (span <= W); rows [N, Dh] the flat compressed cache and table [T, K] int32 rows of it, -1 is
    none (both None: window only); sequences, last [T] int64; sink [H] float32, a logit of its own.
    Logits are q · row · scale. `turn` = (rope table [L, R], positions [T]) turns the result back by its position,
    as `rope(..., inverse=True)` does, in the same kernel (`--fuse attn`).
    """
    module = implementation("sparse_attention", backend, q)
    return module.sparse_attention(q, window, rows, table, sequences, last, sink, span, scale, turn)
