"""Hyper-connections, the truth."""

import torch

from stepprof.kernels.add_rms_norm.reference import rms_norm


def mix_logits(streams: torch.Tensor, fn: torch.Tensor, eps: float) -> torch.Tensor:
    """streams [T, S, D], fn [S·(S+2), S·D] -> [T, S·(S+2)]"""
    return rms_norm(streams.float().flatten(1), None, eps) @ fn.T


def pre_norm(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    """streams [T, S, D], logits [T, S·(S+2)] -> [T, D]"""
    count = streams.shape[1]
    pre = torch.sigmoid(logits[:, :count] * scale[0] + base[:count]) + eps  # [T, S]
    mixed = (pre[..., None] * streams.float()).sum(1)  # [T, D]
    return rms_norm(mixed, weight, eps).to(streams.dtype)


def post_weights(
    logits: torch.Tensor, scale: torch.Tensor, base: torch.Tensor, iterations: int, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """logits [T, S·(S+2)] -> post [T, S], comb [T, S, S]"""
    count = int((logits.shape[1] + 1) ** 0.5) - 1  # S·(S+2) + 1 = (S+1)²
    post = 2 * torch.sigmoid(logits[:, count : 2 * count] * scale[1] + base[count : 2 * count])
    comb = (logits[:, 2 * count :] * scale[2] + base[2 * count :]).unflatten(1, (count, count)).softmax(-1) + eps
    comb = comb / (comb.sum(1, keepdim=True) + eps)
    for _ in range(iterations - 1):
        comb = comb / (comb.sum(2, keepdim=True) + eps)
        comb = comb / (comb.sum(1, keepdim=True) + eps)
    return post, comb


def pre(
    streams: torch.Tensor,
    logits: torch.Tensor,
    scale: torch.Tensor,
    base: torch.Tensor,
    weight: torch.Tensor,
    iterations: int,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """-> x [T, D], post [T, S], comb [T, S, S]"""
    x = pre_norm(streams, logits, scale, base, weight, eps)
    return x, *post_weights(logits, scale, base, iterations, eps)


def post_mix(streams: torch.Tensor, out: torch.Tensor, post: torch.Tensor, comb: torch.Tensor) -> torch.Tensor:
    """streams [T, S, D], out [T, D], post [T, S], comb [T, S, S] -> [T, S, D]"""
    kept = comb.transpose(1, 2) @ streams.float()  # kept[j] = sum_i comb[i, j] streams[i]
    return (post[..., None] * out.float()[:, None] + kept).to(streams.dtype)


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
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """-> streams [T, S, D], x [T, D], post [T, S], comb [T, S, S]"""
    streams = post_mix(streams, out, post, comb)
    logits = mix_logits(streams, fn, eps)
    return streams, *pre(streams, logits, scale, base, weight, iterations, eps)
