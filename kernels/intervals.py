"""Student's t for means of few values: `interval([1.0, 1.2, 0.9])`; no torch, no scipy."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

# two-sided 95 % quantiles for 1 to 30 degrees of freedom
T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def t_95(freedom: float) -> float:
    """The quantile for at least 1 degree of freedom; a fraction counts as the whole number below it."""
    whole = max(1, int(freedom))
    return T_95[whole - 1] if whole <= len(T_95) else 1.96 + 2.4 / whole


def interval(values: Sequence[float]) -> dict[str, Any]:
    """Mean and 95 % t interval of at least two measured values."""
    half = t_95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return {"value": mean, "low": mean - half, "high": mean + half, "kind": "measured"}


def ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, Any] | None:
    """Ratio of geometric means with its 95 % interval (Welch's t on logarithms); None with fewer than two each."""
    if min(len(above), len(below)) < 2:
        return None
    logs = [[math.log(value) for value in values] for values in (above, below)]
    parts = [statistics.variance(values) / len(values) for values in logs]
    middle = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    error = math.sqrt(sum(parts))
    spread = sum(part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True))
    half = t_95(sum(parts) ** 2 / spread) * error if spread else 0.0
    low, high = (math.exp(middle + sign * half) for sign in (-1, 1))
    return {"value": math.exp(middle), "low": low, "high": high, "kind": "measured"}
