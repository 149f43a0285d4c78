"""Index logits, top-k and tables against the reference."""

import pytest
import torch

from stepprof.kernels import indexer
from tests.kernels.cases import Place, Size, cases

SMALL = [{"T": 1, "B": 1, "C": 1, "H": 1, "D": 1}, {"T": 6, "B": 2, "C": 131, "H": 5, "D": 63}]
REAL = [
    {"T": 6, "B": 1, "C": 2049, "H": 8, "D": 64},
    {"T": 6, "B": 1, "C": 8193, "H": 32, "D": 128},
    {"T": 192, "B": 32, "C": 8193, "H": 32, "D": 128},
]


@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))
def test_index_logits(place: Place, size: Size):
    """Sums of up to 128 · 32 products of about one: 1e-3 is some 1e-6 of what is added up. Rows unseen hold NaN."""
    count, width = size["T"], size["D"]
    q, keys = place.normal(count, size["H"], width), place.normal(size["B"], size["C"], width)
    weights, sequences = place.normal(count, size["H"]), torch.arange(count, device=place.device) % size["B"]
    visible = place.integers(0, size["C"] + 1, count)
    for sequence in range(size["B"]):
        mine = visible[sequences == sequence]
        keys[sequence, int(mine.max()) if len(mine) else 0 :] = float("nan")
    got = indexer.index_logits(q, keys, weights, sequences, visible, backend="triton")
    keys = keys.nan_to_num()
    truth = indexer.index_logits(q, keys, weights, sequences, visible, backend="reference")
    assert torch.equal(got == float("-inf"), truth == float("-inf"))
    torch.testing.assert_close(got, truth, rtol=1e-4, atol=1e-3)


TOPK_SMALL = [{"T": 1, "C": 1, "k": 1}, {"T": 3, "C": 5, "k": 9}, {"T": 3, "C": 1000, "k": 63}]
TOPK_REAL = [{"T": 6, "C": 2049, "k": 128}, {"T": 6, "C": 8193, "k": 512}, {"T": 192, "C": 8193, "k": 512}]
TOPK = pytest.mark.parametrize(
    ("place", "size"), cases([*TOPK_SMALL, {"T": 2, "C": 20_000, "k": 7}], TOPK_REAL, ["float32"])
)


@TOPK
def test_top_k(place: Place, size: Size):
    """Distinct scores of both signs, some rows with fewer than k that count."""
    logits = place.normal(size["T"], size["C"], dtype=torch.float32)
    seen = place.integers(0, size["C"] + 1, size["T"])
    logits[torch.arange(size["C"], device=place.device) >= seen[:, None]] = float("-inf")
    got = indexer.top_k(logits, size["k"], backend="triton")
    place.close(got, indexer.top_k(logits, size["k"], backend="reference"))


@pytest.mark.parametrize(
    ("place", "size"), cases([{"T": 3, "C": 500, "k": 63}], [{"T": 6, "C": 8193, "k": 512}], ["float32"])
)
def test_top_k_of_equal_scores(place: Place, size: Size):
    """Any of the equal ones will do, but each at most once, best first."""
    logits = place.integers(-3, 3, size["T"], size["C"]).float()
    rows = indexer.top_k(logits, size["k"], backend="triton")
    for row, chosen in zip(logits, rows.long(), strict=True):
        assert len(chosen.unique()) == size["k"]
        assert torch.equal(row[chosen], row.sort(descending=True).values[: size["k"]])


@pytest.mark.parametrize(
    ("place", "size"), cases([{"T": 1, "K": 1}, {"T": 6, "K": 63}], [{"T": 192, "K": 512}], ["float32"])
)
def test_build_table(place: Place, size: Size):
    chosen = place.integers(-1, 1000, size["T"], size["K"], dtype=torch.int32)
    sequences = place.integers(0, 32, size["T"])
    got = indexer.build_table(chosen, sequences, 8193, backend="triton")
    place.close(got, indexer.build_table(chosen, sequences, 8193, backend="reference"))
