"""Residual add and RMSNorm against the reference."""

import pytest
import torch

from stepprof.kernels import add_rms_norm as op
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "D": 1}, {"T": 6, "D": 63}, {"T": 3, "D": 1000}]
REAL = [{"T": 6, "D": 1024}, {"T": 6, "D": 2048}, {"T": 192, "D": 2048}]


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_rms_norm_of_strided_rows(place: Place, size: Size):
    """Rows may be a slice of a wider output; the weight is optional."""
    x, weight = place.normal(size["T"], size["D"] + 7)[:, : size["D"]], place.normal(size["D"])
    for given in (weight, None):
        place.close(op.rms_norm(x, given, backend="triton"), op.rms_norm(x, given, backend="reference"))


@pytest.mark.parametrize(("place", "size"), cases([{"T": 2, "H": 3, "D": 17}], [{"T": 6, "H": 32, "D": 256}]))
def test_rms_norm_of_heads(place: Place, size: Size):
    x = place.normal(size["T"], size["H"], size["D"])
    place.close(op.rms_norm(x, backend="triton"), op.rms_norm(x, backend="reference"))


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_add_rms_norm(place: Place, size: Size):
    x, residual, weight = (
        place.normal(size["T"], size["D"]),
        place.normal(size["T"], size["D"]),
        place.normal(size["D"]),
    )
    got = op.add_rms_norm(x, residual, weight, backend="triton")
    for mine, truth in zip(got, op.add_rms_norm(x, residual, weight, backend="reference"), strict=True):
        place.close(mine, truth)


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_add_rms_norm_quant(place: Place, size: Size):
    """A value on the border of two fp8 steps may fall either way: one step is 2^-3 of it, or 2^-9 near zero."""
    x, residual, weight = (
        place.normal(size["T"], size["D"]),
        place.normal(size["T"], size["D"]),
        place.normal(size["D"]),
    )
    q, scale, total = op.add_rms_norm_quant(x, residual, weight, backend="triton")
    q_true, scale_true, total_true = op.add_rms_norm_quant(x, residual, weight, backend="reference")
    place.close(scale, scale_true)
    place.close(total, total_true)
    sound = torch.ones(q.shape, dtype=torch.bool, device=q.device)
    if place.device == "cpu":  # the interpreter errs below 2^-6 and where rounding reaches a power of two
        sound = ((q_true.view(torch.uint8) & 7) != 0) & (q_true.float().abs() >= 2**-6)
    torch.testing.assert_close(q.float()[sound], q_true.float()[sound], rtol=2**-3, atol=2**-9)
    assert (q.float() != q_true.float())[sound].float().mean() < 0.01, "many values differ: rounding is wrong"


@pytest.mark.parametrize(("place", "size"), cases([{"T": 2, "D": 130}]))
def test_quant_of_an_empty_group_has_scale_one(place: Place, size: Size):
    zero = torch.zeros(size["T"], size["D"], dtype=place.dtype, device=place.device)
    _, scale, _ = op.add_rms_norm_quant(zero, zero, place.normal(size["D"]), backend="triton")
    assert scale.tolist() == [[1.0, 1.0]] * 2
