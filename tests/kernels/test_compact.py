"""Hot and cold rows against the reference; what is undefined beyond `held` is not compared."""

import pytest
import torch

from stepprof.kernels import compact
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "D": 1, "A": 1, "E": 2}, {"T": 6, "D": 63, "A": 6, "E": 31}, {"T": 11, "D": 1000, "A": 3, "E": 64}]
REAL = [{"T": 6, "D": 1024, "A": 6, "E": 64}, {"T": 192, "D": 2048, "A": 6, "E": 384}]


def slots(place: Place, experts: int, cold: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Where experts lie in the hot and the cold bank, about a share of `cold` in the second."""
    is_cold = place.uniform(experts) < cold
    hot = torch.where(is_cold, -1, (~is_cold).cumsum(0) - 1)
    return hot.int(), torch.where(is_cold, is_cold.cumsum(0) - 1, -1).int()


def same_cold(place: Place, got: compact.Cold, expected: compact.Cold) -> None:
    """Equal in all that is defined."""
    held = int(expected.held)
    for name in ("held", "rows", "slots"):
        place.close(getattr(got, name), getattr(expected, name))
    assert torch.equal(got.x[:held], expected.x[:held])
    place.close(got.weights[:held], expected.weights[:held])


@pytest.mark.parametrize("cold", [0.0, 0.1, 1.0], ids=["all-hot", "some-cold", "all-cold"])
@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_split(place: Place, size: Size, cold: float):
    x, weights = place.normal(size["T"], size["D"]), place.uniform(size["T"], size["A"])
    experts = place.integers(0, size["E"], size["T"], size["A"], dtype=torch.int32)
    banks = slots(place, size["E"], cold)
    hot, rows = compact.split(x, weights, experts, *banks, backend="triton")
    hot_true, rows_true = compact.split(x, weights, experts, *banks, backend="reference")
    place.close(hot, hot_true)
    same_cold(place, rows, rows_true)


@pytest.mark.parametrize(("place", "size"), cases(SMALL[1:2]))
def test_split_writes_where_it_is_told(place: Place, size: Size):
    x, weights = place.normal(size["T"], size["D"]), place.uniform(size["T"], size["A"])
    experts = place.integers(0, size["E"], size["T"], size["A"], dtype=torch.int32)
    banks = slots(place, size["E"], 0.2)
    _, truth = compact.split(x, weights, experts, *banks, backend="reference")
    box = compact.Cold(*(torch.empty_like(part) for part in truth))
    _, got = compact.split(x, weights, experts, *banks, out=box, backend="triton")
    assert [part.data_ptr() for part in got] == [part.data_ptr() for part in box]
    same_cold(place, box, truth)


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_add_rows(place: Place, size: Size):
    """Answers that belong to no row hold NaN and must not be read."""
    out, y = place.normal(size["T"], size["D"]), place.normal(size["T"], size["D"])
    rows = torch.arange(size["T"], dtype=torch.int32).flip(0).to(place.device)
    rows[size["T"] // 2 + 1 :] = -1
    y[size["T"] // 2 + 1 :] = float("nan")
    place.close(compact.add_rows(out, y, rows, backend="triton"), compact.add_rows(out, y, rows, backend="reference"))


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL, dtypes=["float32"]))
def test_impose(place: Place, size: Size):
    experts = place.integers(0, size["E"], size["T"], size["A"], dtype=torch.int32)
    flags = place.uniform(size["T"]) < 0.5
    hot, cold = (torch.arange(a, b, dtype=torch.int32, device=place.device) for a, b in ((0, 5), (5, 8)))
    got = compact.impose(experts, flags, hot, cold, backend="triton")
    place.close(got, compact.impose(experts, flags, hot, cold, backend="reference"))
