"""Acceptance keeps the target's distribution; block verification keeps no fewer; `_plain` says it in loops."""

from typing import Any

import pytest
import torch

from stepprof.kernels import accept

VOCAB, K, ROUNDS = 6, 3, 30_000
# 99.9 % quantile of chi-square
LIMITS = {5: 20.52, 35: 66.62}


def tables(seed: int, sharp: float = 1.0) -> tuple[Any, Any]:
    """Target p(x | x_1) and draft q: one row a previous token, so that positions depend on each other."""
    generator = torch.Generator().manual_seed(seed)
    p, q = (torch.randn(VOCAB, VOCAB, generator=generator) * sharp for _ in range(2))
    return p.softmax(1), q.softmax(1)


def rounds(verify: Any, seed: int, sharp: float = 1.0) -> tuple[Any, Any, Any]:
    """(accepted, tokens, p) of many rounds that all begin after token 0."""
    p, q = tables(seed, sharp)
    generator = torch.Generator().manual_seed(seed + 1)
    drafts = [torch.zeros(ROUNDS, dtype=torch.int64)]
    for _ in range(K):
        drafts.append(torch.multinomial(q[drafts[-1]], 1, generator=generator)[:, 0])
    block = torch.stack(drafts[1:], 1)
    before = torch.stack(drafts, 1)
    draws = torch.rand(ROUNDS, K, generator=generator), torch.rand(ROUNDS, generator=generator)
    accepted, tokens = verify(p[before], q[before[:, :-1]], block, *draws)
    return accepted, tokens, p


def chi_square(counts: Any, probs: Any) -> float:
    expected = probs * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("verify", [accept.token_wise, accept.block], ids=["token", "block"])
def test_output_has_the_target_distribution(verify: Any, seed: int):
    accepted, tokens, p = rounds(verify, seed)
    first = torch.bincount(tokens[:, 0], minlength=VOCAB)
    assert chi_square(first, p[0]) < LIMITS[VOCAB - 1]

    # a round that ended after its first token goes on with plain sampling from the target
    second = tokens[:, 1].clone()
    ended = accepted == 0
    generator = torch.Generator().manual_seed(99)
    second[ended] = torch.multinomial(p[tokens[ended, 0]], 1, generator=generator)[:, 0]
    pairs = torch.bincount(tokens[:, 0] * VOCAB + second, minlength=VOCAB**2)
    assert chi_square(pairs, (p[0][:, None] * p).flatten()) < LIMITS[VOCAB**2 - 1]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_block_verification_keeps_no_fewer(seed: int):
    by_token = rounds(accept.token_wise, seed, sharp=2.0)[0].float()
    by_block = rounds(accept.block, seed, sharp=2.0)[0].float()
    noise = ((by_token.var() + by_block.var()) / ROUNDS) ** 0.5
    assert by_block.mean() > by_token.mean() - 3 * noise


def test_block_verification_keeps_more_somewhere():
    gains = [
        rounds(accept.block, s, 2.0)[0].float().mean() - rounds(accept.token_wise, s, 2.0)[0].float().mean()
        for s in range(4)
    ]
    assert max(gains) > 0.03


@pytest.mark.parametrize("verify", [accept.token_wise, accept.block], ids=["token", "block"])
def test_equal_distributions_keep_everything(verify: Any):
    probs = torch.rand(50, K + 1, VOCAB).softmax(2)
    drafts = torch.randint(VOCAB, (50, K))
    accepted, tokens = verify(probs, probs[:, :-1].clone(), drafts, torch.rand(50, K), torch.rand(50))
    assert (accepted == K).all() and torch.equal(tokens[:, :K], drafts) and (tokens[:, K] >= 0).all()


@pytest.mark.parametrize("k", [0, 1, 7])
def test_one_hot_distributions_are_greedy(k: int):
    logits = torch.randn(40, k + 1, VOCAB)
    drafts = torch.where(torch.rand(40, k) < 0.7, logits[:, :k].argmax(2), torch.randint(VOCAB, (40, k)))
    cold = torch.zeros(40)
    target = accept.distribution(logits, cold)
    draft = torch.nn.functional.one_hot(drafts, VOCAB).float()
    draws = torch.rand(40, k), torch.rand(40)
    expected = accept.greedy(logits, drafts)
    for verify in (accept.token_wise, accept.block):
        for mine, theirs in zip(verify(target, draft, drafts, *draws), expected, strict=True):
            assert torch.equal(mine, theirs)


def test_sample_inverts_the_cumulative_sum():
    probs = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]]).repeat(4, 1)
    draws = torch.tensor([0.0, 0.2499, 0.25, 0.999999])
    assert accept.sample(probs, draws).tolist() == [1, 1, 3, 3]
