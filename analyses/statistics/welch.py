"""The shift between two arms with its confidence interval: Welch's t on one value a launch.

    welch([11.18, 11.20], [11.06, 11.08]).high

Two launches an arm are the fewest an interval can be made of: one tells nothing of how launches vary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stepprof.analyses.statistics.student import t_cdf, t_quantile

LEVEL = 0.95


@dataclass(frozen=True)
class Shift:
    """Candidate minus control in the unit of the values; `low` and `high` bound it at the level asked for."""

    estimate: float
    error: float  # standard error
    df: float
    low: float
    high: float

    def at(self, level: float) -> Shift:
        """The same shift with the interval of another level."""
        half = half_width(self.error, self.df, level)
        return replace(self, low=self.estimate - half, high=self.estimate + half)

    def turned(self) -> Shift:
        """Control minus candidate."""
        return replace(self, estimate=-self.estimate, low=-self.high, high=-self.low)


def welch(control: Sequence[float], candidate: Sequence[float], level: float = LEVEL) -> Shift:
    """Difference of means; degrees of freedom after Welch and Satterthwaite. Two values an arm or more."""
    assert min(len(control), len(candidate)) >= 2, f"{len(control)=} {len(candidate)=}"
    parts = [float(np.var(arm, ddof=1)) / len(arm) for arm in (control, candidate)]
    estimate = float(np.mean(candidate) - np.mean(control))
    total = sum(parts)
    below = sum(part**2 / (len(arm) - 1) for part, arm in zip(parts, (control, candidate), strict=True))
    df = total**2 / below if below > 0 else float(len(control) + len(candidate) - 2)
    return Shift(estimate, math.sqrt(total), df, estimate, estimate).at(level)


def half_width(error: float, df: float, level: float) -> float:
    """Half the width of a two-sided interval."""
    return t_quantile(0.5 + level / 2, df) * error if error > 0 else 0.0


def one_sided_p(shift: Shift, least: float) -> float:
    """p of the hypothesis that the shift is at most `least`, against that it is larger."""
    if shift.error == 0:
        return 0.0 if shift.estimate > least else 1.0
    return 1.0 - t_cdf((shift.estimate - least) / shift.error, shift.df)
