"""Steps within a launch: likeness of neighbours, what they are worth, drift; seeded noise."""

import numpy as np
import pytest

from stepprof.analyses.statistics.bootstrap import block_length, median_error, resampled
from stepprof.analyses.statistics.series import autocorrelations, describe_series, effective_size


def alike(count: int, rho: float, seed: int = 5) -> np.ndarray:
    """Noise of SD 1 whose neighbours correlate by rho."""
    noise = np.random.default_rng(seed).normal(size=count) * np.sqrt(1 - rho**2)
    for i in range(1, count):
        noise[i] += rho * noise[i - 1]
    return noise


def test_independent_steps_are_worth_themselves():
    found = describe_series(10 + 0.1 * alike(1000, 0.0))
    assert abs(found.autocorrelation or 1) < 0.08
    assert (found.effective or 0) > 800
    assert not found.drifts


def test_neighbours_alike_are_worth_less():
    """rho 0.6: 1,000 steps are worth about 1,000 · (1 − 0.6)/(1 + 0.6) = 250; the error grows by about 2."""
    found = describe_series(10 + 0.1 * alike(1000, 0.6))
    assert found.autocorrelation == pytest.approx(0.6, abs=0.08)
    assert 150 < (found.effective or 0) < 350
    assert 1.5 < (found.error or 0) / median_error(10 + 0.1 * alike(1000, 0.0)) < 3


def test_median_error_of_independent_noise():
    """π/2 · σ²/n: about 0.04 for 1,000 of SD 1."""
    assert median_error(alike(1000, 0.0), draws=400) == pytest.approx(np.sqrt(np.pi / 2 / 1000), rel=0.2)


def test_drift_is_found_and_is_not_taken_for_likeness():
    """From 10 to 11 over 400 steps: a tenth of the median."""
    steady = 10 + 0.1 * alike(400, 0.0)
    found = describe_series(steady + np.linspace(-0.5, 0.5, 400))
    assert found.drifts and found.drift == pytest.approx(0.1, abs=0.005)
    assert (found.effective or 0) > 300


def test_likeness_is_rarely_taken_for_drift():
    """Of 60 launches without drift about 1 in 100 is flagged."""
    flagged = sum(describe_series(10 + 0.1 * alike(200, 0.6, seed)).drifts for seed in range(60))
    assert flagged <= 3


def test_few_or_equal_steps_say_nothing():
    for values in ([3.0] * 50, [1.0, 2.0, 4.0]):
        found = describe_series(np.array(values))
        assert (found.error, found.autocorrelation, found.effective, found.drift) == (None, None, None, None)
        assert not found.drifts
    assert describe_series(np.array([1.0, 2.0, 4.0])).median == 2


def test_trimmed_mean_leaves_a_tenth_out_at_each_end():
    assert describe_series(np.array([0.0, *[5.0] * 8, 100.0])).trimmed_mean == 5


def test_autocorrelations_by_hand():
    """1, −1, 1, −1: lag 1 is −3/4, lag 2 is 2/4."""
    assert autocorrelations(np.array([1.0, -1.0, 1.0, -1.0])).tolist() == pytest.approx([1, -0.75, 0.5, -0.25])
    assert effective_size(4, np.array([1, -0.75, 0.5, -0.25])) == 4


def test_blocks_grow_with_likeness():
    assert block_length(alike(1000, 0.0)) < 3 < block_length(alike(1000, 0.6)) < block_length(alike(1000, 0.9))


def test_a_resample_is_made_of_runs():
    at = resampled(1000, 10.0, np.random.default_rng(1))
    follows = np.mean((np.diff(at) % 1000) == 1)
    assert at.min() >= 0 and at.max() < 1000 and follows == pytest.approx(0.9, abs=0.03)
