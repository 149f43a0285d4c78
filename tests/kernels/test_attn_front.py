"""Norm, rope and cache write against the reference; slots of the ring that nothing goes to stay as they were."""

import pytest
import torch

from stepprof.kernels import attn_front as op
from stepprof.kernels.rope import rope_table
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "H": 1, "D": 2, "R": 2, "B": 1, "W": 3}, {"T": 6, "H": 3, "D": 63, "R": 10, "B": 2, "W": 7}]
REAL = [
    {"T": 6, "H": 16, "D": 64, "R": 32, "B": 1, "W": 197},
    {"T": 192, "H": 32, "D": 256, "R": 64, "B": 32, "W": 325},
]


def inputs(place: Place, size: Size):
    """latent, weight, table, positions, sequences, window; rows of a sequence are consecutive."""
    latent = place.normal(size["T"], size["D"] + 9)[:, : size["D"]]
    each = -(-size["T"] // size["B"])
    row = torch.arange(size["T"], device=place.device)
    window = place.normal(size["B"], size["W"], size["D"])
    weight = place.normal(size["D"])
    return latent, weight, rope_table(900, size["R"]).to(place.device), 40 + row % each, row // each, window


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_latent_insert(place: Place, size: Size):
    *_, window = given = inputs(place, size)
    truth = window.clone()
    op.latent_insert(*given, backend="triton")
    op.latent_insert(*given[:5], truth, backend="reference")
    place.close(window, truth, atol=1e-5)


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_attn_front(place: Place, size: Size):
    q = place.normal(size["T"], size["H"], size["D"])
    *_, window = given = inputs(place, size)
    truth = window.clone()
    got = op.attn_front(q, *given, backend="triton")
    place.close(got, op.attn_front(q, *given[:5], truth, backend="reference"), atol=1e-5)
    place.close(window, truth, atol=1e-5)
