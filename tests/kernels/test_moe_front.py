"""The fused front of a mixture layer against the reference."""

import pytest
import torch

from stepprof.kernels.compact import Cold
from stepprof.kernels.moe_front import moe_front
from tests.kernels.cases import Place, Size, cases
from tests.kernels.test_compact import same_cold, slots

SMALL = [{"T": 1, "D": 1, "E": 2, "A": 1}, {"T": 6, "D": 63, "E": 31, "A": 6}, {"T": 9, "D": 70, "E": 300, "A": 3}]
REAL = [
    {"T": 6, "D": 1024, "E": 64, "A": 6},
    {"T": 6, "D": 2048, "E": 384, "A": 6},
    {"T": 64, "D": 2048, "E": 384, "A": 6},
    {"T": 192, "D": 2048, "E": 384, "A": 6},
]


@pytest.mark.parametrize("cold", [0.0, 0.1, 1.0], ids=["all-hot", "some-cold", "all-cold"])
@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_moe_front(place: Place, size: Size, cold: float):
    """Twice: the ticket that programs draw must be back at its start.

    Logits are integers and the bias is 0, so that sums are exact and choices equal or far apart.
    """
    x, gate = place.integers(-1, 2, size["T"], size["D"]), place.integers(-2, 3, size["E"], size["D"])
    x, gate = x.to(place.dtype), gate.to(place.dtype)
    bias = torch.zeros(size["E"], device=place.device)
    given = (x, gate, bias, *slots(place, size["E"], cold), size["A"], 1.5)
    weights_true, hot_true, cold_true = moe_front(*given, backend="reference")
    for _ in range(2):
        box = Cold(*(torch.empty_like(part) for part in cold_true))
        weights, hot, rows = moe_front(*given, out=box, backend="triton")
        place.close(weights, weights_true)
        place.close(hot, hot_true)
        assert rows.x.data_ptr() == box.x.data_ptr()
        same_cold(place, rows, cold_true)
