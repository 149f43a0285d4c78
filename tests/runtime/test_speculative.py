"""Random draws are fresh in every round, sampled output has the target's distribution, imposed figures come out."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch

from stepprof.runtime.config import TINY
from stepprof.runtime.options import Options
from stepprof.runtime.speculative import Draws, impose
from tests.runtime.engines import PROMPT, decode, engine, generate

# a vocabulary so small that every token is seen often; draft and target differ, yet often agree
SMALL = replace(TINY, vocab=8, hot_experts=8)
START = [1, 2, 3]
CHI_SQUARE_7 = 24.32  # 99.9 % quantile


def test_no_draw_is_used_in_two_rounds():
    draws = Draws.make(Options(batch=4, k=7, seed=3))
    rounds: list[Any] = []
    for _ in range(200):
        draws.refill()
        rounds.append(draws.every.clone())
        parts = (draws.draft, draws.accept, draws.sample, draws.simulate)
        assert torch.equal(torch.cat([part.flatten() for part in parts]), rounds[-1])
    every = torch.cat(rounds)
    # uniforms have 24 bits, so a few of 12,800 meet by chance; a round used again would be 64 at once
    assert len(every) - len(every.unique()) < 30
    assert all((a != b).float().mean() > 0.9 for a, b in pairwise(rounds))


def test_seeds_tell_runs_apart_and_repeat_them():
    first, second, other = (generate(25, k=3, sampling="block", seed=0, temperature=1.0) for _ in range(3))
    assert first == second == other
    with engine(k=3, sampling="block") as a, engine(k=3, sampling="block") as b:
        b.draws.generator.manual_seed(5)
        assert decode(a, a.add(PROMPT), 25) != decode(b, b.add(PROMPT), 25)


def first_tokens(rounds: int, **options: Any) -> Any:
    """Counts of the token that follows START, over many steps from the same state."""
    counts = torch.zeros(SMALL.vocab)
    with engine(SMALL, batch=32, sidecar_mode="off", **options) as made:
        slots = [made.add(START) for _ in range(32)]
        state = made.state
        before = state.last.clone(), state.position.clone()
        for _ in range(rounds):
            for kept in made.step():
                counts[kept.tokens[0]] += 1
                state.context[kept.slot] = len(START)
            state.last.copy_(before[0])
            state.position.copy_(before[1])
        assert slots == list(range(32))
    return counts


def target(temperature: float) -> Any:
    """The model's own distribution of that token."""
    with engine(SMALL, k=0, sidecar_mode="off") as made:
        slot = made.add(START)
        seen: list[Any] = []
        logits = made.model.logits
        object.__setattr__(made.model, "logits", lambda hidden: seen.append(logits(hidden)) or seen[-1])
        made.step()
        assert slot == 0
    return (seen[0][0] / temperature).softmax(0)


@pytest.mark.parametrize("sampling", ["token", "block"])
@pytest.mark.parametrize(("k", "temperature"), [(0, 1.0), (3, 0.7)])
def test_sampled_output_has_the_target_distribution(sampling: Any, k: int, temperature: float):
    counts = first_tokens(100, k=k, sampling=sampling, temperature=temperature)
    expected = target(temperature) * counts.sum()
    assert float(((counts - expected) ** 2 / expected).sum()) < CHI_SQUARE_7


def test_a_request_may_bring_its_temperature():
    plain = generate(15, k=0)
    with engine(k=3, sampling="token", batch=2) as made:
        cold = made.add(PROMPT, temperature=0.0)
        hot = made.add(PROMPT, temperature=1.5)
        tokens: dict[int, list[int]] = {cold: [], hot: []}
        while min(map(len, tokens.values())) < 15:
            for kept in made.step():
                tokens[kept.slot] += kept.tokens
    assert tokens[cold][:15] == plain
    assert tokens[hot][:15] != plain


def test_impose_keeps_drafts_and_ends_each_row():
    drafts = torch.arange(1, 4).repeat(4, 1)  # [4, 3]
    tokens = torch.tensor([[9, -1, -1, -1]] * 4)  # the true round kept nothing
    accepted, imposed = impose(torch.tensor([0.9, 0.5, 0.1]), drafts, tokens, torch.tensor([0.95, 0.6, 0.3, 0.05]))
    assert accepted.tolist() == [0, 1, 2, 3]
    assert imposed.tolist() == [[9, -1, -1, -1], [1, 2, -1, -1], [1, 2, 3, -1], [1, 2, 3, 3]]


def test_simulated_acceptance_comes_out():
    with engine(replace(TINY, max_context=2_000), k=3, batch=8, simulate_acceptance=(0.9, 0.6, 0.3)) as made:
        for _ in range(8):
            made.add(PROMPT)
        kept = [len(one.tokens) for _ in range(150) for one in made.step()]
    shares = [sum(n > i for n in kept) / len(kept) for i in (1, 2, 3)]
    assert shares == pytest.approx([0.9, 0.6, 0.3], abs=0.05)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_cold_rate_comes_out(rate: float):
    with engine(k=5, batch=4, cold_rate=rate) as made:
        for _ in range(4):
            made.add(PROMPT)
        rows: list[int] = []
        for _ in range(15):
            made.step()
            outbox = made.runner.sidecar.outbox
            assert outbox is not None
            rows += [count for count, _ in outbox.counts(24)]
    assert sum(rows) / (24 * len(rows)) == pytest.approx(rate, abs=0.05)
