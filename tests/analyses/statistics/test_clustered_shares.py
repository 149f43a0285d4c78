"""Two shares over clusters: exact sums by hand, known quantiles, and the level that is promised."""

import numpy as np
import pytest

from stepprof.analyses.statistics import t_cdf, t_quantile
from stepprof.analyses.statistics.clustered_shares import above


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("df", "quantile"), [(1, 6.3138), (2, 2.9200), (3, 2.3534), (10, 1.8125), (30, 1.6973), (999, 1.6464)]
)
def test_quantiles_of_the_tables(df: int, quantile: float):
    assert t_quantile(0.95, df) == pytest.approx(quantile, abs=5e-5)
    assert t_cdf(quantile, df) == pytest.approx(0.95, abs=5e-6)
    assert t_cdf(-quantile, df) == pytest.approx(0.05, abs=5e-6) and t_cdf(0, df) == 0.5


def test_by_hand():
    # shares 3/20 and 1/20; contributions (2 - 1.5)/20 - (1 - 0.5)/20 = 0 and (1 - 1.5)/20 - (0 - 0.5)/20 = 0
    same = above(ints(2, 1), ints(10, 10), ints(1, 0), ints(10, 10))
    assert (same.share, same.control, same.excess) == (0.15, 0.05, pytest.approx(0.1))
    assert same.p == 0.0 and same.low == same.high == same.excess
    # contributions ±(1.5 + 0.5)/20 = ±0.1, so the error is sqrt(2 * 0.02) = 0.2
    apart = above(ints(3, 0), ints(10, 10), ints(0, 1), ints(10, 10))
    assert apart.high - apart.excess == pytest.approx(12.7062 * 0.2, rel=1e-5)
    assert apart.p == pytest.approx(1 - t_cdf(0.5, 1))


def test_nothing_flips_anywhere():
    none = above(ints(0, 0), ints(10, 10), ints(0, 0), ints(10, 10))
    assert (none.p, none.excess, none.detectable) == (1.0, 0.0, 0.0)


def test_clusters_without_observations_do_not_count():
    with_empty = above(ints(3, 0, 0), ints(10, 10, 0), ints(0, 1, 0), ints(10, 10, 0))
    assert with_empty == above(ints(3, 0), ints(10, 10), ints(0, 1), ints(10, 10))


def simulated(effect: float, runs: int, seed: int) -> float:
    """Share of runs that find an excess: 40 prompts whose own rates differ much."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(runs):
        rate = rng.beta(0.5, 20, 40)  # of each prompt, mean 2.4 %
        n = rng.integers(50, 400, 40)
        flips, control = rng.binomial(n, np.minimum(1, rate * (1 + effect))), rng.binomial(n, rate)
        found += above(flips, n, control, n).p < 0.05
    return found / runs


def test_the_level_holds_and_an_effect_is_found():
    assert 0.03 <= simulated(0, 1000, 1) <= 0.07
    assert simulated(0.6, 200, 2) > 0.8
