"""Routing against the reference."""

import pytest
import torch

from stepprof.kernels.router import route
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "E": 1, "A": 1}, {"T": 6, "E": 63, "A": 6}, {"T": 3, "E": 384, "A": 3}]
REAL = [{"T": 6, "E": 64, "A": 6}, {"T": 6, "E": 384, "A": 6}, {"T": 192, "E": 384, "A": 6}]


def spread(place: Place, rows: int, experts: int) -> torch.Tensor:
    """Each row an order of its own of the same, evenly spaced numbers, [rows, experts] float32."""
    values = torch.linspace(-6, 6, experts)
    order = [torch.randperm(experts, generator=place.generator) for _ in range(rows)]
    return torch.stack([values[o] for o in order]).to(place.device)


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_route(place: Place, size: Size):
    """Where two choices are equal within 1e-5, either will do."""
    logits = spread(place, size["T"], size["E"]).to(place.dtype)
    bias = place.normal(size["E"], dtype=torch.float32, std=0.1)
    weights, experts = route(logits, bias, size["A"], 1.5, backend="triton")
    _, experts_true = route(logits, bias, size["A"], 1.5, backend="reference")
    scores = torch.nn.functional.softplus(logits.float()).sqrt()
    chosen, best = ((scores + bias).gather(1, e.long()) for e in (experts, experts_true))
    place.close(chosen, best, atol=1e-5)
    own = scores.gather(1, experts.long())
    place.close(weights, own * (1.5 / own.sum(1, keepdim=True)))
    assert all(len(row.unique()) == size["A"] for row in experts)


@pytest.mark.parametrize(("place", "size"), cases([{"T": 2, "E": 9, "A": 4}]))
def test_equal_scores_go_to_the_lower_expert(place: Place, size: Size):
    logits = torch.zeros(size["T"], size["E"], device=place.device, dtype=place.dtype)
    _, experts = route(logits, torch.zeros(size["E"], device=place.device), size["A"], 1.5, backend="triton")
    assert experts.tolist() == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize(("place", "size"), cases([{"T": 1, "E": 5, "A": 5}]))
def test_scores_far_below_one_keep_their_digits(place: Place, size: Size):
    """softplus(-30) is 1e-13, which 1 + x cannot hold."""
    logits = torch.tensor([[-30.0, 25.0, 0.0, -20.0, -10.0]], device=place.device)
    bias = torch.zeros(size["E"], device=place.device)
    place.close(
        route(logits, bias, 5, 1.0, backend="triton")[0], route(logits, bias, 5, 1.0, backend="reference")[0], atol=0
    )
