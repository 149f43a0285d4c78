"""Rotary positions, alone and after an RMSNorm, against the reference."""

import pytest

from stepprof.kernels import rope as op
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "H": 1, "D": 2, "R": 2}, {"T": 6, "H": 3, "D": 63, "R": 10}, {"T": 2, "H": 5, "D": 300, "R": 64}]
REAL = [{"T": 6, "H": 16, "D": 64, "R": 32}, {"T": 192, "H": 32, "D": 256, "R": 64}]


@pytest.mark.parametrize("inverse", [False, True], ids=["forward", "inverse"])
@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_rope(place: Place, size: Size, inverse: bool):
    x, table = place.normal(size["T"], size["H"], size["D"]), op.rope_table(100, size["R"]).to(place.device)
    positions = place.integers(0, 100, size["T"])
    got = op.rope(x, table, positions, inverse=inverse, backend="triton")
    place.close(got, op.rope(x, table, positions, inverse=inverse, backend="reference"))


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_norm_rope_of_strided_rows(place: Place, size: Size):
    """x is a slice of a wider output; the weight is optional."""
    wide = place.normal(size["T"], size["H"] * size["D"] + 5)
    x = wide[:, : size["H"] * size["D"]].unflatten(1, (size["H"], size["D"]))
    table, positions = op.rope_table(100, size["R"]).to(place.device), place.integers(0, 100, size["T"])
    for weight in (place.normal(size["D"]), None):
        got = op.norm_rope(x, weight, table, positions, backend="triton")
        place.close(got, op.norm_rope(x, weight, table, positions, backend="reference"))
