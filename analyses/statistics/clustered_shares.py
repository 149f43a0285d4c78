"""Whether one share is above another where observations come in clusters: flips of tokens, clustered by prompt.

    above(flips, positions, control_flips, control_positions)      # arrays of one entry a prompt

Tokens of one prompt resemble each other, so the prompt is the unit: the variance of the difference is that of the
prompts' contributions to it (linearisation of two ratios over the same clusters; Cochran, Sampling Techniques,
3rd ed., 6.4 and 9A), with Student's t on prompts − 1 degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stepprof.analyses.ops import Ints
from stepprof.analyses.statistics import t_cdf, t_quantile

POWER = 0.8416  # standard errors by which an effect must pass the limit to be seen in 80 % of trials


@dataclass(frozen=True)
class Excess:
    """A share minus that of the controls; `low` and `high` bound it at 95 %."""

    share: float
    control: float
    excess: float
    low: float
    high: float
    p: float  # one-sided, of "not above the controls"
    clusters: int
    detectable: float  # the excess that would be found in 80 % of trials at the level asked for


def above(x: Ints, n: Ints, control_x: Ints, control_n: Ints, level: float = 0.05) -> Excess:
    """One-sided test of Σx/Σn against Σcontrol_x/Σcontrol_n; at least two clusters with observations."""
    used = (n > 0) | (control_n > 0)
    x, n, cx, cn = (column[used].astype(float) for column in (x, n, control_x, control_n))
    clusters = len(n)
    assert clusters > 1 and n.sum() > 0 and cn.sum() > 0, f"{clusters=}"
    share, control = x.sum() / n.sum(), cx.sum() / cn.sum()
    part = (x - share * n) / n.sum() - (cx - control * cn) / cn.sum()
    error = math.sqrt(clusters / (clusters - 1) * float(part @ part))
    excess, df = float(share - control), clusters - 1
    p = 1 - t_cdf(excess / error, df) if error else float(excess <= 0)
    reach, limit = t_quantile(0.975, df) * error, t_quantile(1 - level, df) * error
    return Excess(
        float(share), float(control), excess, excess - reach, excess + reach, p, clusters, limit + POWER * error
    )
