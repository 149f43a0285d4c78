"""t intervals against tabled quantiles."""

import math

import pytest

from stepprof.kernels.intervals import interval, ratio, t_95


def test_quantiles_of_few_and_many():
    assert [t_95(freedom) for freedom in (0.4, 1, 1.9, 2, 30)] == [12.706, 12.706, 12.706, 4.303, 2.042]
    assert t_95(39) == pytest.approx(2.0227, abs=2e-3) and t_95(1000) == pytest.approx(1.9623, abs=1e-3)


def test_interval_of_two():
    assert interval([1.0, 3.0]) == pytest.approx(
        {"value": 2, "low": 2 - 12.706, "high": 2 + 12.706, "kind": "measured"}
    )


def test_ratio_of_launches():
    """Equal spreads of one launch each side of 2 and 1: Welch has 2 degrees of freedom."""
    found = ratio([2 * math.e**0.1, 2 * math.e**-0.1], [math.e**0.1, math.e**-0.1])
    assert found is not None
    # each side: variance of +0.1 and -0.1 is 0.02, over 2 launches 0.01
    half = 4.303 * math.sqrt(0.02)
    assert found == pytest.approx(
        {"value": 2, "low": 2 * math.exp(-half), "high": 2 * math.exp(half), "kind": "measured"}
    )


def test_ratio_without_spread_or_with_one_launch():
    assert ratio([3.0, 3.0], [2.0, 2.0]) == pytest.approx({"value": 1.5, "low": 1.5, "high": 1.5, "kind": "measured"})
    assert ratio([3.0], [2.0, 2.0]) is None
