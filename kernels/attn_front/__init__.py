"""The small ops between the attention GEMMs and the attention itself.

`latent_insert` norms and turns the latent and writes it into the window; `attn_front` does that and
`rope.norm_rope` of the queries in one kernel (`--fuse attn`).
"""

import torch

from stepprof.kernels.backends import Backend, implementation


def latent_insert(
    latent: torch.Tensor,
    weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> None:
    """Write norm_rope(latent) into `window`: latent [T, Dh], rows may be strided; weight [Dh]; the rest as below."""
    module = implementation("attn_front", backend, latent)
    module.latent_insert(latent, weight, table, positions, sequences, window, eps)


def attn_front(
    q: torch.Tensor,
    latent: torch.Tensor,
    latent_weight: torch.Tensor,
    table: torch.Tensor,
    positions: torch.Tensor,
    sequences: torch.Tensor,
    window: torch.Tensor,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Normed, turned queries [T, H, Dh]; the latent goes, normed and turned, into `window` in place.

    q [T, H, Dh]; latent [T, Dh], rows may be strided; latent_weight [Dh]; table [L, R] float32 as in `rope`;
    positions, sequences [T] int64; window [B, W, Dh]: row t goes to window[sequences[t], positions[t] % W].
    Query heads are normed without a weight.
    """
    module = implementation("attn_front", backend, q)
    return module.attn_front(q, latent, latent_weight, table, positions, sequences, window, eps)
