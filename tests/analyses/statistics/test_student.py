"""Student's t against closed forms, against printed tables, and against itself."""

import math
from math import atan, pi, sqrt

import pytest

from stepprof.analyses.statistics.student import incomplete_beta, t_cdf, t_density, t_quantile


@pytest.mark.parametrize("p", [1e-6, 0.005, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9995])
def test_quantiles_in_closed_form(p):
    """One degree of freedom is Cauchy's; two have a root."""
    assert t_quantile(p, 1) == pytest.approx(math.tan(pi * (p - 0.5)), rel=1e-9, abs=1e-12)
    assert t_quantile(p, 2) == pytest.approx((2 * p - 1) / sqrt(2 * p * (1 - p)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("t", [-40.0, -2.5, -0.1, 0.0, 0.7, 3.0, 12.0])
def test_functions_in_closed_form(t):
    three = 0.5 + (atan(t / sqrt(3)) + t / sqrt(3) / (1 + t * t / 3)) / pi
    u = t / sqrt(4 + t * t)
    four = 0.5 + 0.75 * u * (1 - u * u / 3)
    assert t_cdf(t, 3) == pytest.approx(three, abs=1e-12)
    assert t_cdf(t, 4) == pytest.approx(four, abs=1e-12)


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [
        (0.975, 4, 2.7764451052),
        (0.95, 5, 2.0150483727),
        (0.975, 8, 2.3060041352),
        (0.975, 10, 2.2281388520),
        (0.95, 20, 1.7247182429),
        (0.995, 30, 2.7499956536),
        (0.975, 120, 1.9799304051),
    ],
)
def test_quantiles_of_printed_tables(p, df, t):
    assert t_quantile(p, df) == pytest.approx(t, abs=1e-8)
    assert t_quantile(1 - p, df) == pytest.approx(-t, abs=1e-8)


def test_many_degrees_of_freedom_are_normal():
    assert t_quantile(0.975, 1e7) == pytest.approx(1.959963984540054, abs=1e-6)


@pytest.mark.parametrize("df", [0.7, 1.9, 3.37, 6, 41.2, 900.5])
@pytest.mark.parametrize("p", [1e-4, 0.01, 0.4, 0.83, 0.999])
def test_quantile_undoes_the_function(df, p):
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-10)


def test_the_density_is_the_slope():
    assert (t_cdf(1.3 + 1e-5, 5.5) - t_cdf(1.3 - 1e-5, 5.5)) / 2e-5 == pytest.approx(t_density(1.3, 5.5), rel=1e-8)


def test_ends():
    assert (t_cdf(-math.inf, 3), t_cdf(math.inf, 3), t_quantile(0.5, 3)) == (0, 1, 0)
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0, 1)
    assert incomplete_beta(2, 3, 0.5) == pytest.approx(11 / 16)
