"""Shift, rank tests, floor, replicates, cells and looks: small numbers that a reader can work out."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from stepprof.analyses.statistics import (
    Shift,
    combined,
    hodges_lehmann,
    holm,
    level_of_look,
    noise_floor,
    one_sided_p,
    permutation_p,
    welch,
)
from stepprof.analyses.statistics.looks import BOUNDS


def test_welch_with_equal_spreads():
    """SD 1 and 1, three each: error √(1/3 + 1/3), 4 degrees of freedom, t 2.7764."""
    shift = welch([1, 2, 3], [4, 5, 6])
    assert (shift.estimate, shift.error, shift.df) == (3, pytest.approx(math.sqrt(2 / 3)), pytest.approx(4))
    half = 2.776445 * math.sqrt(2 / 3)
    assert (shift.low, shift.high) == (pytest.approx(3 - half, abs=1e-5), pytest.approx(3 + half, abs=1e-5))


def test_welch_with_unequal_spreads():
    """Variances 1 and 100 of three: df = (101/3)² / ((1/3)²/2 + (100/3)²/2) = 2 · 101² / 10001."""
    shift = welch([1, 2, 3], [10, 20, 30])
    assert shift.df == pytest.approx(2 * 101**2 / 10001)


def test_launches_without_any_spread():
    shift = welch([5, 5], [4, 4])
    assert (shift.low, shift.estimate, shift.high, shift.df) == (-1, -1, -1, 2)


def test_one_sided_p():
    assert one_sided_p(Shift(2.776445105, 1, 4, 0, 0), 0) == pytest.approx(0.025, abs=1e-9)
    assert one_sided_p(Shift(1, 1, 4, 0, 0), 1) == 0.5
    assert (one_sided_p(Shift(1, 0, 4, 1, 1), 0), one_sided_p(Shift(1, 0, 4, 1, 1), 1)) == (0, 1)


def test_hodges_lehmann_is_the_median_difference():
    """Differences 9, 8, 19, 18: the median is 13.5; one wild launch does not carry it away."""
    assert hodges_lehmann([1, 2], [10, 20]) == 13.5
    assert hodges_lehmann([10, 11, 12], [8, 9, 900]) == -2


@pytest.mark.parametrize(("count", "labellings"), [(4, 70), (5, 252), (6, 924)])
def test_permutation_p_at_perfect_separation(count, labellings):
    found = permutation_p(list(range(10, 10 + count)), list(range(count)))
    assert found is not None
    assert (found.lower, found.higher, found.two_sided) == (1 / labellings, 1, 2 / labellings)


def test_permutation_p_counts_ties():
    """All values alike: every labelling is as extreme."""
    found = permutation_p([3, 3, 3, 3], [3, 3, 3, 3])
    assert found is not None and (found.lower, found.higher, found.two_sided) == (1, 1, 1)


def test_too_few_or_too_many_launches_have_no_permutation_p():
    assert permutation_p([1, 2, 3], [4, 5, 6, 7]) is None
    assert permutation_p(list(range(12)), list(range(12))) is None


def test_noise_floor_of_the_spread():
    """Controls 1, 2, 3: SD 1, so 2·√(1/3 + 1/3) = 1.63; halves differ by at most 1.5."""
    assert noise_floor([1, 2, 3], 3) == pytest.approx(2 * math.sqrt(2 / 3))


def test_noise_floor_of_the_halves():
    """Controls 0, 0, 0, 10 against 400 candidates: 2 · 5 · √(1/4 + 1/400) = 5.02; every halving differs by 5."""
    assert noise_floor([0, 0, 0, 10], 400) == pytest.approx(2 * 5 * math.sqrt(0.2525))
    assert noise_floor([0, 0, 10, 10], 10**6) == 10  # by 10 in 2 of 6 halvings; SD 5.77 alone says 5.77
    assert noise_floor([7], 4) is None


def test_noise_floor_with_too_many_halvings_to_count_draws_them():
    values = list(np.random.default_rng(3).normal(size=40))
    floor = noise_floor(values, 40)
    assert floor is not None and floor == noise_floor(values, 40) and floor < 2


def test_equal_replicates_meet_half_way():
    """Errors 1 and 1, df 4: weights ½; variance ½ · (1 + 4 · 2 · ½ · ½ / 4) = 0.75; df 8."""
    both = combined([Shift(-1, 1, 4, 0, 0), Shift(-3, 1, 4, 0, 0)])
    assert (both.estimate, both.df) == (-2, pytest.approx(8))
    assert both.error == pytest.approx(math.sqrt(0.75))
    assert both.high == pytest.approx(-2 + 2.306004135 * math.sqrt(0.75))


def test_a_surer_replicate_weighs_more():
    """Variances 1 and ¼: weights 1 and 4 of 5."""
    assert combined([Shift(0, 1, 50, 0, 0), Shift(10, 0.5, 50, 0, 0)]).estimate == pytest.approx(8)


def test_replicates_without_error():
    assert combined([Shift(1, 0, 4, 1, 1), Shift(3, 0, 4, 3, 3), Shift(9, 1, 4, 0, 0)]) == Shift(2, 0, 8, 2, 2)


def test_holm():
    """Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04."""
    found = holm({"a": 0.04, "b": 0.01, "c": 0.02})
    assert {cell: one.p for cell, one in found.items()} == {"b": 0.03, "c": 0.04, "a": 0.04}
    assert all(one.rejected for one in found.values())
    assert not any(one.rejected for one in holm({"a": 0.04, "b": 0.03, "c": 0.02}).values())


def test_one_look_is_the_usual_interval():
    assert level_of_look(1, 1) == pytest.approx(0.95, abs=1e-6)


def test_two_looks_keep_the_level():
    """P(|Z1| > c1 or |Z2| > c2) = 5 % for Z2 = (Z1 + Z)/√2, by summing over Z1."""
    first, second = BOUNDS[2][0], BOUNDS[2][-1]
    z = np.linspace(-first, first, 20_001)
    normal = NormalDist()
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    kept = np.array([normal.cdf(second * math.sqrt(2) - x) - normal.cdf(-second * math.sqrt(2) - x) for x in z])
    inside = float(np.trapezoid(density * kept, z))
    assert 1 - inside == pytest.approx(0.05, abs=2e-5)
    assert first == pytest.approx(math.sqrt(2) * second, rel=1e-5)
    assert level_of_look(1, 2) > 0.99 > level_of_look(2, 2) > 0.95
