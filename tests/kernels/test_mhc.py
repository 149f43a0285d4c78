"""Hyper-connections against the reference. Sinkhorn divides twenty times: float32 results may differ by 1e-5."""

import pytest
import torch

from stepprof.kernels import mhc
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "S": 1, "D": 1}, {"T": 3, "S": 3, "D": 63}, {"T": 2, "S": 4, "D": 300}]
REAL = [{"T": 6, "S": 4, "D": 1024}, {"T": 6, "S": 4, "D": 2048}, {"T": 192, "S": 4, "D": 2048}]
SIZES = pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
ITERATIONS = 20


def mixing(place: Place, size: Size) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """fn [N, S·D], scale [3], base [N], all float32, and weight [D]."""
    outputs, width = size["S"] * (size["S"] + 2), size["S"] * size["D"]
    fn = place.normal(outputs, width, dtype=torch.float32, std=width**-0.5)
    return fn, place.uniform(3) + 0.5, place.normal(outputs, dtype=torch.float32), place.normal(size["D"])


def ended(place: Place, size: Size) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """streams [T, S, D], out [T, D], post [T, S], comb [T, S, S] of a sublayer that has just ended."""
    count, number, width = size["T"], size["S"], size["D"]
    streams, out = place.normal(count, number, width), place.normal(count, width)
    return streams, out, place.uniform(count, number), place.uniform(count, number, number)


def all_close(place: Place, got: tuple[torch.Tensor, ...], truth: tuple[torch.Tensor, ...], ulps: float = 2) -> None:
    """Each within two roundings."""
    for mine, true in zip(got, truth, strict=True):
        place.close(mine, true, ulps=ulps, atol=1e-4)  # 8,192 products summed in another order


@SIZES
def test_mix_logits(place: Place, size: Size):
    fn, *_ = mixing(place, size)
    streams = place.normal(size["T"], size["S"], size["D"])
    place.close(
        mhc.mix_logits(streams, fn, backend="triton"), mhc.mix_logits(streams, fn, backend="reference"), atol=1e-5
    )


@SIZES
def test_pre_norm_and_post_weights_alone_and_together(place: Place, size: Size):
    fn, scale, base, weight = mixing(place, size)
    streams, logits = (
        place.normal(size["T"], size["S"], size["D"]),
        place.normal(size["T"], len(fn), dtype=torch.float32),
    )
    truth = mhc.pre(streams, logits, scale, base, weight, ITERATIONS, backend="reference")
    all_close(place, mhc.pre(streams, logits, scale, base, weight, ITERATIONS, backend="triton"), truth)
    x = mhc.pre_norm(streams, logits, scale, base, weight, backend="triton")
    all_close(place, (x, *mhc.post_weights(logits, scale, base, ITERATIONS, backend="triton")), truth)


@SIZES
def test_post_mix(place: Place, size: Size):
    given = ended(place, size)
    place.close(mhc.post_mix(*given, backend="triton"), mhc.post_mix(*given, backend="reference"), atol=1e-5)


@SIZES
def test_boundary(place: Place, size: Size):
    """Twice: the tickets that programs draw must be back at their start. Streams may round to the other side."""
    given = (*ended(place, size), *mixing(place, size), ITERATIONS)
    truth = mhc.boundary(*given, backend="reference")
    for _ in range(2):
        all_close(place, mhc.boundary(*given, backend="triton"), truth, ulps=4)
