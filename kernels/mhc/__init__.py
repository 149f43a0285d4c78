"""Manifold-constrained hyper-connections: S residual streams, mixed before and after each sublayer.

    logits = mix_logits(streams, fn)                             GEMM over the flattened streams, RMS-scaled
    x, post, comb = pre(streams, logits, scale, base, weight)    the sublayer's input and what comes after it
    streams = post_mix(streams, out, post, comb)                 the sublayer's answer and the old streams, mixed

`pre` is `pre_norm` and `post_weights` in one kernel; apart, the second may run beside the sublayer (`--mhc-stream`).
`boundary` is the chain post_mix, mix_logits, pre in one kernel (`--fuse boundary`).
Logits are S pre weights, S post weights, then S×S mixing weights, row-major.
"""

import torch

from stepprof.kernels.backends import Backend, implementation


def mix_logits(
    streams: torch.Tensor, fn: torch.Tensor, *, eps: float = 1e-6, backend: Backend = "auto"
) -> torch.Tensor:
    """fn · (streams / rms over all S·D): streams [T, S, D], fn [S·(S+2), S·D] float32 -> [T, S·(S+2)] float32."""
    return implementation("mhc", backend, streams).mix_logits(streams, fn, eps)


def pre_norm(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> torch.Tensor:
    """The sublayer's input: RMSNorm of sum_s pre[s] · streams[s], with pre = sigmoid(logits · scale[0] + base) + eps.

    streams [T, S, D], logits [T, S·(S+2)] float32 (the first S are used), scale [3] float32,
    base [S·(S+2)] float32, weight [D] -> [T, D] in the streams' dtype.
    """
    return implementation("mhc", backend, streams).pre_norm(streams, logits, scale, base, weight, eps)


def post_weights(
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    iterations: int,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor]:
    """(post [T, S], comb [T, S, S]) float32: post = 2 · sigmoid(logits · scale[1] + base); comb by Sinkhorn.

    comb: softmax over the last dimension of logits · scale[2] + base, plus eps; then columns are divided by
    (their sum + eps), and `iterations` - 1 times rows, then columns, likewise.
    """
    return implementation("mhc", backend, logits).post_weights(logits, scale, base, iterations, eps)


def pre(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    iterations: int,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`pre_norm` and `post_weights` together: (x [T, D], post [T, S], comb [T, S, S])."""
    return implementation("mhc", backend, streams).pre(streams, logits, scale, base, weight, iterations, eps)


def post_mix(
    streams: torch.Tensor, out: torch.Tensor, post: torch.Tensor, comb: torch.Tensor, *, backend: Backend = "auto"
) -> torch.Tensor:
    """New streams [T, S, D]: new[j] = post[j] · out + sum_i comb[i, j] · streams[i]; out [T, D]."""
    return implementation("mhc", backend, streams).post_mix(streams, out, post, comb)


def boundary(
    streams: torch.Tensor,
    out: torch.Tensor,
    post: torch.Tensor,
    comb: torch.Tensor,
    fn: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    iterations: int,
    *,
    eps: float = 1e-6,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """From one sublayer's answer to the next one's input: (streams [T, S, D], x [T, D], post [T, S], comb [T, S, S]).

    post and comb are those of the sublayer that ends here; fn, scale, base and weight belong to the next one.
    """
    module = implementation("mhc", backend, streams)
    return module.boundary(streams, out, post, comb, fn, scale, base, weight, iterations, eps)
