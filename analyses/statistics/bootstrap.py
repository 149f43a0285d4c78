"""The error of a median of steps that resemble their neighbours: the stationary bootstrap.

Blocks of random length (Politis & Romano, JASA 89, 1994); their mean length is chosen from the data
(Politis & White, Econometric Reviews 23, 2004, corrected by Patton et al., 28, 2009). Seeded.
"""

from __future__ import annotations

import math

import numpy as np

DRAWS = 200


def median_error(x: np.ndarray, draws: int = DRAWS) -> float:
    """Standard error of the median, in the unit of x."""
    draw = np.random.default_rng(0)
    length = block_length(x)
    medians = [float(np.median(x[resampled(len(x), length, draw)])) for _ in range(draws)]
    return float(np.std(medians, ddof=1))


def resampled(count: int, length: float, draw: np.random.Generator) -> np.ndarray:
    """Places of one resample: blocks of mean length `length`, around the end to the beginning."""
    begins = draw.random(count) < 1 / length
    begins[0] = True
    block = np.cumsum(begins) - 1
    start = draw.integers(0, count, size=int(block[-1]) + 1)
    first = np.flatnonzero(begins)
    return (start[block] + np.arange(count) - first[block]) % count


def block_length(x: np.ndarray) -> float:
    """Mean block length, at least 1 and at most a third of the series or 3√n."""
    count = len(x)
    most = min(math.ceil(count / 3), math.ceil(3 * math.sqrt(count)))
    centred = x - x.mean()
    reach = min(count - 1, math.ceil(math.sqrt(count)) + max(5, math.ceil(math.log10(count))))
    covariance = np.array([centred[: count - k] @ centred[k:] / count for k in range(reach + 1)])
    if covariance[0] <= 0:
        return 1.0
    width = 2 * _last_significant(covariance / covariance[0], count)
    lags = np.arange(1, min(width, reach) + 1)
    weight = np.minimum(1, 2 * (1 - lags / max(width, 1)))  # a flat top, then a slope to 0
    g = 2 * float((weight * lags * covariance[lags]).sum())
    spectrum = covariance[0] + 2 * float((weight * covariance[lags]).sum())
    if spectrum <= 0 or g == 0:
        return 1.0
    return float(min(most, max(1.0, (g * g / spectrum**2) ** (1 / 3) * count ** (1 / 3))))


def _last_significant(rho: np.ndarray, count: int) -> int:
    """The lag after which five in a row are within chance; 1 at least."""
    bound = 2 * math.sqrt(math.log10(count) / count)
    small = np.abs(rho[1:]) < bound
    for lag in range(len(small)):
        if small[lag : lag + 5].all():
            return max(lag, 1)
    return max(len(small), 1)
