"""KV compression against the reference."""

import pytest

from stepprof.kernels.compressor import pool
from tests.kernels.cases import Place, Size, cases

SMALL = [
    {"T": 1, "B": 1, "L": 5, "D": 1, "r": 1},
    {"T": 6, "B": 2, "L": 13, "D": 63, "r": 2},
    {"T": 3, "B": 3, "L": 9, "D": 300, "r": 4},
]
REAL = [{"T": 6, "B": 1, "L": 197, "D": 64, "r": 2}, {"T": 192, "B": 32, "L": 325, "D": 256, "r": 2}]


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_pool(place: Place, size: Size):
    """The ring wraps: positions go beyond its length."""
    raw = place.normal(size["B"], size["L"], 2 * size["D"])
    bias = place.normal(size["r"], size["D"]).float()
    where = (place.integers(0, size["B"], size["T"]), place.integers(0, 3 * size["L"], size["T"]))
    place.close(pool(raw, bias, *where, backend="triton"), pool(raw, bias, *where, backend="reference"), atol=1e-5)
