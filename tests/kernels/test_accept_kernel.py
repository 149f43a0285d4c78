"""Acceptance kernels against the reference, token by token; test_accept.py proves the reference."""

import pytest
import torch

from stepprof.kernels import accept
from tests.kernels.cases import Place, Size, cases

SMALL = [{"B": 1, "k": 0, "V": 5}, {"B": 3, "k": 1, "V": 63}, {"B": 4, "k": 5, "V": 2500}]
REAL = [{"B": 1, "k": 5, "V": 8192}, {"B": 1, "k": 5, "V": 129_280}, {"B": 32, "k": 7, "V": 129_280}]
SIZES = pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL, dtypes=["float32"]))


def probs(place: Place, *shape: int, like: torch.Tensor | None = None) -> torch.Tensor:
    """Distributions over the last dimension, float32, a third of them 0; near `like` where it is given."""
    x = place.normal(*shape, dtype=torch.float32)
    x = x if like is None else like.clamp_min(1e-9).log() + 0.5 * x
    x[place.uniform(*shape) < 0.33] = float("-inf")
    x[..., 0] = 0.0
    return x.softmax(-1)


def rounds(place: Place, size: Size) -> tuple[torch.Tensor, ...]:
    """target, draft, drafts, accept draws, sample draws; drafts have a probability in the draft."""
    batch, k, vocab = size["B"], size["k"], size["V"]
    target = probs(place, batch, k + 1, vocab)
    draft = probs(place, batch, k, vocab, like=target[:, :k])
    drafts = (draft * place.uniform(*draft.shape)).argmax(-1) if k else draft.new_zeros(batch, 0).long()
    return target, draft, drafts, place.uniform(batch, k), place.uniform(batch)


@SIZES
def test_greedy(place: Place, size: Size):
    """Few distinct logits, so that ties are common; some drafts agree."""
    target = place.integers(0, 50, size["B"], size["k"] + 1, size["V"]).to(place.dtype)
    drafts = target[:, :-1].argmax(-1)
    wrong = place.uniform(*drafts.shape) < 0.3
    drafts = torch.where(wrong, (drafts + 1) % size["V"], drafts)
    for mine, truth in zip(
        accept.greedy(target, drafts, backend="triton"), accept.greedy(target, drafts, backend="reference"), strict=True
    ):
        place.close(mine, truth)


@pytest.mark.parametrize("rule", ["token_wise", "block"])
@SIZES
def test_sampled(place: Place, size: Size, rule: str):
    for _ in range(2):
        given = rounds(place, size)
        got, truth = (getattr(accept, rule)(*given, backend=b) for b in ("triton", "reference"))
        place.close(got[0], truth[0])
        place.close(got[1], truth[1])


@SIZES
def test_sample(place: Place, size: Size):
    """The ends of the unit interval too; probabilities need not sum to 1."""
    given = probs(place, size["B"] + 2, size["V"]) * 3
    draw = torch.cat([place.uniform(size["B"]), torch.tensor([0.0, 1 - 2**-24], device=place.device)])
    place.close(accept.sample(given, draw, backend="triton"), accept.sample(given, draw, backend="reference"))


@pytest.mark.parametrize(("place", "size"), cases([{"N": 1, "V": 2100}]))
def test_sample_skips_tokens_of_probability_zero(place: Place, size: Size):
    """A draw of 0 takes the first token that may be drawn, the highest draw the last one."""
    given = torch.zeros(2, size["V"], device=place.device)
    given[:, 7], given[:, 2060] = 0.1, 0.9
    draw = torch.tensor([0.0, 1 - 2**-24], device=place.device)
    assert accept.sample(given, draw, backend="triton").tolist() == [7, 2060]


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_distribution(place: Place, size: Size):
    """Temperature 0 puts all on the lower of equal tokens."""
    logits = place.normal(size["B"], size["k"] + 1, size["V"], std=4)
    logits[0, :, 3:5] = 99.0
    temperature = place.uniform(size["B"]) * 2
    temperature[0] = 0.0
    got = accept.distribution(logits, temperature, backend="triton")
    # exp turns an absolute error of its argument, up to 100 roundings of float32, into a relative one
    place.close(got, accept.distribution(logits, temperature, backend="reference"), ulps=6)
    assert got[0, :, 3].tolist() == [1.0] * (size["k"] + 1)
