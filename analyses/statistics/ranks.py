"""Answers that assume no distribution: the Hodges–Lehmann shift and the exact permutation p.

Both belong beside the t interval from four launches an arm; with fewer no labelling is rare
enough (3 against 3: p >= 0.05).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

FEWEST = 4  # launches an arm
MOST_LABELLINGS = 200_000  # 10 against 10 are 184,756


@dataclass(frozen=True)
class PermutationP:
    """Shares of all labellings whose shift is as extreme as the one seen."""

    lower: float  # the candidate is lower
    higher: float
    two_sided: float


def hodges_lehmann(control: Sequence[float], candidate: Sequence[float]) -> float:
    """The median of all differences candidate − control."""
    return float(np.median(np.subtract.outer(np.asarray(candidate, float), np.asarray(control, float))))


def permutation_p(control: Sequence[float], candidate: Sequence[float]) -> PermutationP | None:
    """Exact p of the difference of means; None with fewer than four launches an arm, or too many to count all."""
    size, chosen = len(control) + len(candidate), len(candidate)
    if min(len(control), chosen) < FEWEST or math.comb(size, chosen) > MOST_LABELLINGS:
        return None
    values = np.array([*control, *candidate], dtype=float)
    values = values - values.mean()  # the sum of a labelling then orders as its difference of means does
    sums = values[labellings(size, chosen)].sum(axis=1)
    seen, near = values[len(control) :].sum(), 1e-9 * float(np.abs(values).sum())
    return PermutationP(
        float(np.mean(sums <= seen + near)),
        float(np.mean(sums >= seen - near)),
        float(np.mean(np.abs(sums) >= abs(seen) - near)),
    )


@cache
def labellings(size: int, chosen: int) -> np.ndarray:
    """All choices of `chosen` out of `size` places, one a row."""
    return np.array(list(combinations(range(size), chosen)), dtype=np.intp)
