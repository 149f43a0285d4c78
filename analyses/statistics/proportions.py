"""Whether one share is above another: flips of a candidate against those of a control and its replicate.

above_control(2176, 100_000, 2121, 100_000)        # p = 0.20: no regression
"""

from __future__ import annotations

import math
from statistics import NormalDist


def above_control(flips: int, count: int, control_flips: int, control_count: int, design: float = 1.0) -> float:
    """One-sided p of "not above control"; z test with the variance of the control's share.

    `design` is the factor by which clustering (tokens of one prompt) widens the variance, 1 without.
    """
    assert count > 0 and control_count > 0 and design > 0, f"{count=} {control_count=} {design=}"
    share, control = flips / count, control_flips / control_count
    variance = design * control * (1 - control) * (1 / count + 1 / control_count)
    if variance == 0:
        return 0.0 if share > control else 1.0
    return 1 - NormalDist().cdf((share - control) / math.sqrt(variance))
