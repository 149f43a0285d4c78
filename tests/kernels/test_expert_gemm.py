"""Expert GEMMs against the reference: pairs without an expert, experts that several rows share, rows not held.

Float32 sums of K products are added in another order: they may differ by some K^0.5 roundings of their largest term,
which 1e-5 · K^0.5 covers for terms of a few units.
"""

import pytest
import torch

from stepprof.kernels import expert_gemm as op
from tests.kernels.cases import Place, Size, cases

SMALL = [
    {"T": 1, "A": 1, "D": 1, "I": 1, "E": 1},
    {"T": 3, "A": 6, "D": 63, "I": 10, "E": 5},
    {"T": 1, "A": 3, "D": 1000, "I": 63, "E": 2},
]
REAL = [
    {"T": 1, "A": 6, "D": 2048, "I": 640, "E": 24},
    {"T": 6, "A": 6, "D": 1024, "I": 256, "E": 24},
    {"T": 6, "A": 6, "D": 2048, "I": 640, "E": 24},
    {"T": 192, "A": 6, "D": 2048, "I": 640, "E": 24},
]
SIZES = pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))


def routing(place: Place, size: Size) -> tuple[torch.Tensor, torch.Tensor]:
    """slots [T, A] with a third of them -1, weights [T, A]."""
    slots = place.integers(0, size["E"], size["T"], size["A"], dtype=torch.int32)
    gaps = place.uniform(size["T"], size["A"]) < 0.33
    return torch.where(gaps, -1, slots), place.uniform(size["T"], size["A"])


def close(place: Place, got: torch.Tensor, truth: torch.Tensor, depth: int) -> None:
    """Equal but for the order of sums of `depth` products."""
    place.close(got, truth, atol=1e-5 * depth**0.5)


@SIZES
def test_up_gate(place: Place, size: Size):
    slots, _ = routing(place, size)
    x, w_in = (
        place.normal(size["T"], size["D"]),
        place.normal(size["E"], 2 * size["I"], size["D"], std=size["D"] ** -0.5),
    )
    truth = op.up_gate(x, slots, w_in, backend="reference")
    close(place, op.up_gate(x, slots, w_in, backend="triton"), truth, size["D"])


@SIZES
def test_down_ordered_and_atomic(place: Place, size: Size):
    slots, weights = routing(place, size)
    h, w_out = place.normal(size["T"], size["A"], size["I"]), place.normal(size["E"], size["D"], size["I"])
    parts = op.down(h, slots, weights, w_out, backend="triton")
    close(place, parts, op.down(h, slots, weights, w_out, backend="reference"), size["I"])
    total = op.down_atomic(h, slots, weights, w_out, backend="triton")
    close(place, total, op.down_atomic(h, slots, weights, w_out, backend="reference"), size["I"] * size["A"])


@SIZES
def test_reduce_adds_in_order(place: Place, size: Size):
    """Nothing is rounded but the result: bit by bit the reference."""
    parts, add = place.normal(size["T"], size["A"], size["D"], dtype=torch.float32), place.normal(size["T"], size["D"])
    for more in (None, add):
        got = op.reduce(parts, place.dtype, add=more, backend="triton")
        assert torch.equal(got, op.reduce(parts, place.dtype, add=more, backend="reference"))


@pytest.mark.parametrize("held", [0, 1, 2], ids=["none", "one", "two"])
@pytest.mark.parametrize(("place", "size"), cases([{"T": 3, "A": 3, "D": 63, "I": 10, "E": 5}], REAL[1:3]))
def test_only_held_rows_are_computed(place: Place, size: Size, held: int):
    """Rows beyond `held` stay as torch.empty left them, and are 0 where answers are added up."""
    slots, weights = routing(place, size)
    slots[held:] = -1
    count = torch.tensor([held], dtype=torch.int32, device=place.device)
    x, w_in = (
        place.normal(size["T"], size["D"]),
        place.normal(size["E"], 2 * size["I"], size["D"], std=size["D"] ** -0.5),
    )
    w_out = place.normal(size["E"], size["D"], size["I"])
    h = op.up_gate(x, slots, w_in, count=count, backend="triton")
    h_true = op.up_gate(x, slots, w_in, count=count, backend="reference")
    close(place, h[:held], h_true[:held], size["D"])

    parts = op.down(h_true, slots, weights, w_out, count=count, backend="triton")
    close(place, parts[:held], op.down(h_true, slots, weights, w_out, backend="reference")[:held], size["I"])
    total = op.reduce(parts, place.dtype, count=count, backend="triton")
    assert torch.equal(total[:held], op.reduce(parts, place.dtype, backend="reference")[:held])
    for untouched in (h, parts, total):
        assert untouched[held:].isnan().all()
    summed = op.down_atomic(h_true, slots, weights, w_out, count=count, backend="triton")
    close(place, summed, op.down_atomic(h_true, slots, weights, w_out, backend="reference"), size["I"] * size["A"])


@pytest.mark.parametrize(("place", "size"), cases([{"T": 4, "A": 2, "D": 63, "I": 10, "E": 2}], REAL[3:]))
def test_rows_that_share_one_expert(place: Place, size: Size):
    slots = torch.zeros(size["T"], size["A"], dtype=torch.int32, device=place.device)
    x, w_in = (
        place.normal(size["T"], size["D"]),
        place.normal(size["E"], 2 * size["I"], size["D"], std=size["D"] ** -0.5),
    )
    truth = op.up_gate(x, slots, w_in, backend="reference")
    close(place, op.up_gate(x, slots, w_in, backend="triton"), truth, size["D"])
