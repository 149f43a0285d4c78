"""Several answers as one: independent replicates by inverse variance, several cells by Holm.

combined([first, second])                  # a Shift
holm({"prose": 0.04, "code": 0.01})["code"].p     # 0.02
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepprof.analyses.statistics.welch import LEVEL, Shift


@dataclass(frozen=True)
class Adjusted:
    """A p after correction for the number of cells."""

    p: float
    rejected: bool


def combined(shifts: Sequence[Shift], level: float = LEVEL) -> Shift:
    """The mean of independent shifts, weighted by inverse variance.

    The weights rest on estimated variances, which the naive error 1/√Σw ignores: it is corrected after
    Meier (Biometrics 9, 1953), 1 + 4 Σ (1/df) (w/W) (1 − w/W); degrees of freedom W² / Σ (w²/df).
    Shifts without any error count alike and leave the others out.
    """
    exact = [shift for shift in shifts if shift.error == 0]
    if exact:
        estimate = sum(shift.estimate for shift in exact) / len(exact)
        return Shift(estimate, 0.0, sum(shift.df for shift in exact), estimate, estimate)
    weights = [shift.error**-2 for shift in shifts]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    estimate = sum(share * shift.estimate for share, shift in zip(shares, shifts, strict=True))
    doubt = 1 + 4 * sum(share * (1 - share) / shift.df for share, shift in zip(shares, shifts, strict=True))
    df = 1 / sum(share**2 / shift.df for share, shift in zip(shares, shifts, strict=True))
    return Shift(estimate, math.sqrt(doubt / total), df, estimate, estimate).at(level)


def holm(p: Mapping[str, float], alpha: float = 0.05) -> dict[str, Adjusted]:
    """Holm's step-down correction; the chance of any false rejection stays below alpha."""
    adjusted: dict[str, Adjusted] = {}
    worst = 0.0
    for rank, (cell, value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        worst = max(worst, min(1.0, (len(p) - rank) * value))
        adjusted[cell] = Adjusted(worst, worst <= alpha)
    return adjusted
