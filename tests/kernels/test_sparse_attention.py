"""Sparse latent attention against the reference; slots that no query sees hold NaN.

Weights are rounded to the keys' dtype before they meet the keys (float32 in the reference), so results may differ by
half an ulp of the weights more than by their own rounding.
"""

import pytest
import torch

from stepprof.kernels.rope import rope_table
from stepprof.kernels.sparse_attention import sparse_attention
from tests.kernels.cases import Place, Size, cases

SMALL = [
    {"T": 1, "H": 1, "D": 2, "B": 1, "W": 3, "span": 3, "K": 1, "R": 2},
    {"T": 3, "H": 5, "D": 63, "B": 2, "W": 90, "span": 70, "K": 63, "R": 10},
    {"T": 2, "H": 17, "D": 80, "B": 1, "W": 9, "span": 5, "K": 130, "R": 64},
]
REAL = [
    {"T": 6, "H": 16, "D": 64, "B": 1, "W": 197, "span": 128, "K": 128, "R": 32},
    {"T": 6, "H": 32, "D": 256, "B": 1, "W": 197, "span": 128, "K": 512, "R": 64},
    {"T": 192, "H": 32, "D": 256, "B": 32, "W": 325, "span": 128, "K": 512, "R": 64},
]


def inputs(place: Place, size: Size) -> dict[str, torch.Tensor]:
    """The first query sees only itself; compressed rows have gaps in their table."""
    count, width = size["T"], size["D"]
    q, window = place.normal(count, size["H"], width), place.normal(size["B"], size["W"], width)
    rows, table = place.normal(500, width), place.integers(-200, 400, count, size["K"], dtype=torch.int32).clamp_min(-1)
    rows[400:] = float("nan")
    sequences = torch.arange(count, device=place.device) % size["B"]
    last = place.integers(0, 3 * size["W"], count)
    last[0] = 0
    if count == size["B"]:
        window[0, 1:] = float("nan")
    sink = place.normal(size["H"], dtype=torch.float32)
    return {"q": q, "window": window, "rows": rows, "table": table, "sequences": sequences, "last": last, "sink": sink}


def check(place: Place, size: Size, given: dict, **more) -> None:
    """Both backends, compared."""
    more |= {"span": size["span"], "scale": size["D"] ** -0.5}
    got = sparse_attention(**given, **more, backend="triton")
    place.close(
        got, sparse_attention(**given, **more, backend="reference"), ulps=2, atol=torch.finfo(place.dtype).eps * 4
    )


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_window_and_table(place: Place, size: Size):
    check(place, size, inputs(place, size))


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_window_only(place: Place, size: Size):
    check(place, size, inputs(place, size) | {"rows": None, "table": None})


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_turned_back(place: Place, size: Size):
    turn = (rope_table(50, size["R"]).to(place.device), place.integers(0, 50, size["T"]))
    check(place, size, inputs(place, size), turn=turn)
