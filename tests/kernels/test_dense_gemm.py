"""Dense GEMM against the reference: odd sizes, every tactic, parts of K that hold nothing."""

import pytest
import torch

from stepprof.kernels import dense_gemm as op
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "N": 1, "K": 1}, {"T": 5, "N": 63, "K": 200}, {"T": 16, "N": 33, "K": 130}]
REAL = [{"T": 1, "N": 1792, "K": 5120}, {"T": 8, "N": 8192, "K": 1280}, {"T": 6, "N": 5120, "K": 2048}]
SIZES = pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))


@SIZES
@pytest.mark.parametrize("tactic", [op.Tactic(), op.Tactic(16, 64, 4), op.Tactic(64, 128, 2, 8, 2)], ids=str)
def test_linear(place: Place, size: Size, tactic: op.Tactic):
    x, w = place.normal(size["T"], size["K"]), place.normal(size["N"], size["K"])
    got = op.linear(x, w, tactic, backend="triton")
    place.close(got, op.linear(x, w, backend="reference"), atol=1e-5 * size["K"] ** 0.5)
    assert torch.equal(got, op.linear(x, w, tactic, backend="triton"))


def test_tactics_are_distinct():
    assert len({str(tactic) for tactic in op.tactics()}) == len(op.tactics()) == 15
