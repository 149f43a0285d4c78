"""The steps within one launch: how alike neighbours are, how many steps they are worth, whether they drift.

Diagnostics, not the verdict: a launch is one observation however many steps it has.

    describe_series(step_ms).effective
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.statistics.bootstrap import median_error
from stepprof.analyses.statistics.student import t_cdf

DRIFTS_AT = 0.01
FEWEST = 10  # steps to say anything about


@dataclass(frozen=True)
class Series:
    """One launch; figures are None where it has too few steps."""

    steps: int
    median: float
    trimmed_mean: float  # without the lowest and highest 10 %
    error: float | None  # of the median, by stationary bootstrap
    autocorrelation: float | None  # of neighbours
    effective: float | None  # steps' worth of independent ones
    drift: float | None  # change from first to last step, share of the median
    drift_p: float | None

    @property
    def drifts(self) -> bool:
        """Steps at the end differ from those at the beginning by more than chance."""
        return self.drift_p is not None and self.drift_p < DRIFTS_AT


def describe_series(values: np.ndarray) -> Series:
    """Figures of one launch's steps, in their order."""
    x = np.asarray(values, dtype=float)
    median, trimmed = float(np.median(x)), trimmed_mean(x)
    if len(x) < FEWEST or np.ptp(x) == 0:
        return Series(len(x), median, trimmed, None, None, None, None, None)
    error = median_error(x)
    place = np.arange(len(x)) - (len(x) - 1) / 2
    slope = float(place @ (x - x.mean()) / (place @ place))
    rest = x - x.mean() - slope * place  # else a drift would pass for likeness of neighbours
    rho = autocorrelations(rest)
    effective = effective_size(len(x), rho)
    p = _trend_p(x, effective)
    drift = slope * (len(x) - 1) / median if median else 0.0
    return Series(len(x), median, trimmed, error, float(rho[1]), effective, drift, p)


def autocorrelations(x: np.ndarray) -> np.ndarray:
    """Autocorrelation by lag, from lag 0 on, through the spectrum."""
    size = 1 << (2 * len(x) - 1).bit_length()
    spectrum = np.fft.rfft(x - x.mean(), size)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), size)[: len(x)]
    return covariance / covariance[0] if covariance[0] > 0 else np.eye(1, len(x))[0]


def effective_size(count: int, rho: np.ndarray) -> float:
    """n / (1 + 2 Σ rho), over pairs of lags while their sum is positive (Geyer, Statist. Sci. 7, 1992)."""
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    kept = pairs[: int(negative[0]) if len(negative) else len(pairs)]
    return float(min(count, count / max(2 * kept.sum() - 1, 1 / count)))


def _trend_p(x: np.ndarray, effective: float) -> float | None:
    """Two-sided p of Spearman's rank correlation with time, worth as many steps as are independent."""
    if effective <= 3:
        return None
    rank = _ranks(x)
    r = float(np.corrcoef(rank, np.arange(len(x)))[0, 1])
    if abs(r) >= 1:
        return 0.0
    t = abs(r) * math.sqrt((effective - 2) / (1 - r * r))
    return 2 * t_cdf(-t, effective - 2)


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks, the mean of them where values are equal."""
    _, group, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return ((last - count + last + 1) / 2)[group]


def trimmed_mean(x: np.ndarray) -> float:
    """Mean without the lowest and highest 10 %."""
    cut = len(x) // 10
    return float(np.sort(x)[cut : len(x) - cut].mean())
