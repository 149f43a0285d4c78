"""What a call costs, fixed, per row and per expert."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.sidecar.fit import HUBER, OLS, SHRINKS, fit_calls


def calls(cells: Mapping[tuple[int, int], Sequence[float]]):
    """rows, experts and ns of calls given as µs by (rows, experts)."""
    flat = [(rows, experts, round(1e3 * us)) for (rows, experts), us_ in cells.items() for us in us_]
    return tuple(np.array(column, dtype=np.int64) for column in zip(*flat, strict=True))


POSTS = {1: 82.9, 2: 99.4, 4: 133.4, 8: 195.0}


def test_the_posts_table():
    """p50 82.9, 99.4, 133.4, 195.0 µs at 1, 2, 4, 8 rows: 67.7 + 16.0 µs a row, off by at most 1.8."""
    fits = fit_calls(*calls({(rows, UNKNOWN): [us - 9, us, us + 30] for rows, us in POSTS.items()}))
    fit = fits.medians
    assert fit.estimator == OLS
    assert (fit.fixed_us, fit.per_row_us) == (pytest.approx(67.65, abs=0.01), pytest.approx(16.006, abs=0.001))
    assert fit.max_residual_us == pytest.approx(1.723, abs=0.001)
    assert fit.per_expert_us is None
    assert fits.said == "experts of calls are not known, so a row's cost holds that of its experts."
    low, high = fit.intervals["per_row_us"]
    assert low < 16.006 < high
    assert fit_calls(*calls({(r, UNKNOWN): [us - 9, us, us + 30] for r, us in POSTS.items()})) == fits  # fixed seed


def test_rows_and_experts_apart():
    """Exactly 50 + 3 a row + 10 an expert."""
    cells = {(r, e): [50 + 3 * r + 10 * e] * 3 for r, e in [(1, 1), (1, 2), (2, 2), (2, 4), (4, 5)]}
    fits = fit_calls(*calls(cells))
    for fit in (fits.medians, fits.robust):
        assert (fit.fixed_us, fit.per_row_us, fit.per_expert_us) == pytest.approx((50, 3, 10))
        assert fit.max_residual_us == pytest.approx(0, abs=1e-9)
    assert fits.said == ""


def test_calls_that_do_not_grow_have_no_fixed_share():
    """100 µs less 2 a row: more rows, shorter calls."""
    fits = fit_calls(*calls({(r, UNKNOWN): [100 - 2 * r] * 2 for r in (1, 2, 4)}))
    assert (fits.medians.fixed_us, fits.medians.per_row_us) == pytest.approx((100, -2))
    assert fits.fixed_us is None and fits.said.endswith(SHRINKS)
    mixed = {
        (r, e): [60 + 50 * r - e / 10 + x for x in (-3, 0, 3)] for r, e in [(1, 1), (1, 2), (2, 2), (2, 4), (4, 5)]
    }
    unsure = fit_calls(*calls(mixed))  # an expert seems to cost -0.1 µs, among calls that differ by 6
    assert unsure.fixed_us == pytest.approx(60) and SHRINKS not in unsure.said
    growing = fit_calls(*calls({(r, UNKNOWN): [100 + 2 * r] * 2 for r in (1, 2, 4)}))
    assert growing.fixed_us == pytest.approx(100) and SHRINKS not in growing.said


def test_rows_that_bring_their_experts_cannot_be_told_from_them():
    fits = fit_calls(*calls({(r, 2 * r): [50 + 20 * r] * 2 for r in (1, 2, 4)}))
    assert (fits.medians.fixed_us, fits.medians.per_row_us) == pytest.approx((50, 20))
    assert fits.medians.per_expert_us is None
    assert "cannot be told apart (every row brings 2 experts)" in fits.said


@pytest.mark.parametrize(
    ("rows", "said"),
    [(UNKNOWN, "neither rows nor experts are known"), (3, "calls differ in no rows (always 3)")],
)
def test_one_size_tells_no_fixed_cost(rows, said):
    fits = fit_calls(*calls({(rows, UNKNOWN): [50.0, 60.0]}))
    assert (fits.medians.fixed_us, fits.medians.per_row_us, fits.robust.fixed_us) == (None, None, None)
    assert fits.said.startswith(said)


def test_calls_without_rows_are_no_part_of_the_fit():
    fits = fit_calls(*calls({(0, 0): [5.0], (1, UNKNOWN): [60.0], (2, UNKNOWN): [70.0]}))
    assert (fits.medians.fixed_us, fits.medians.per_row_us) == pytest.approx((50, 10))


def test_calls_that_do_not_say_their_rows_are_no_part_of_it_where_others_do():
    fits = fit_calls(*calls({(UNKNOWN, UNKNOWN): [5.0, 900.0], (1, UNKNOWN): [60.0], (2, UNKNOWN): [70.0]}))
    assert (fits.medians.fixed_us, fits.medians.per_row_us) == pytest.approx((50, 10))


def test_a_few_far_calls_do_not_move_the_robust_fit():
    """10 of 200 calls take a millisecond longer; least squares on the calls would be 50 µs off."""
    draw = np.random.default_rng(1)
    rows = np.tile([1, 2, 4, 8], 50)
    us = 60 + 15 * rows + draw.normal(0, 1, 200)
    us[:10] += 1_000
    fit = fit_calls(rows, np.full(200, UNKNOWN), np.round(1e3 * us).astype(np.int64)).robust
    assert fit.estimator == HUBER
    assert (fit.fixed_us, fit.per_row_us) == (pytest.approx(60, abs=0.6), pytest.approx(15, abs=0.15))
    for name, value in (("fixed_us", 60), ("per_row_us", 15)):
        low, high = fit.intervals[name]
        assert low < value < high and high - low < 2


def test_intervals_hold_the_truth_about_as_often_as_they_claim():
    held = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        rows = np.tile([1, 2, 4, 8], 30)
        us = 60 + 15 * rows + draw.normal(0, 2, 120)
        low, high = fit_calls(rows, np.full(120, -1), np.round(1e3 * us).astype(np.int64)).robust.intervals[
            "per_row_us"
        ]
        held += low < 15 < high
    assert held >= 52  # 95 % of 60 is 57
