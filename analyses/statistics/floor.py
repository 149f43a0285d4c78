"""How large a difference between two arms unchanged launches make by themselves: the noise floor.

The larger of 2·SD·√(1/nA + 1/nB), SD of the control launches, and the 95th percentile of the
difference between two halves of the controls, over all ways to halve them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stepprof.analyses.statistics.ranks import MOST_LABELLINGS, labellings

SPLIT_SHARE = 0.95
DRAWS = 20_000  # splits where there are too many to take all


def noise_floor(control: Sequence[float], candidates: int) -> float | None:
    """In the unit of the values; None with fewer than two controls."""
    if len(control) < 2:
        return None
    spread = 2 * float(np.std(control, ddof=1)) * math.sqrt(1 / len(control) + 1 / candidates)
    return max(spread, _split(np.asarray(control, float)))


def _split(values: np.ndarray) -> float:
    """The 95th percentile of |mean of one half − mean of the other|."""
    size, half = len(values), len(values) // 2
    if math.comb(size, half) <= MOST_LABELLINGS:
        chosen = labellings(size, half)
    else:
        draw = np.random.default_rng(0)
        chosen = draw.permuted(np.tile(np.arange(size), (DRAWS, 1)), axis=1)[:, :half]
    one = values[chosen].sum(axis=1)
    difference = one / half - (values.sum() - one) / (size - half)
    return float(np.quantile(np.abs(difference), SPLIT_SHARE))
