"""Student's t distribution: its function and its quantiles, for any positive number of degrees of freedom.

    t_quantile(0.975, 4)        # 2.7764

The function goes through the regularised incomplete beta, a continued fraction evaluated by
Lentz's method (Numerical Recipes, 3rd ed., 6.4); quantiles by Newton's method within a bracket.
"""

from __future__ import annotations

import math

TINY = 1e-300
TERMS = 20_000  # needed in number grow with the root of the parameters
CLOSE = 1e-15


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) with `df` > 0 degrees of freedom."""
    if math.isinf(t):
        return 0.0 if t < 0 else 1.0
    tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t))
    return tail if t < 0 else 1.0 - tail


def t_density(t: float, df: float) -> float:
    """The density at t."""
    log = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(log - (df + 1) / 2 * math.log1p(t * t / df))


def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, 0 < p < 1."""
    assert 0 < p < 1 and df > 0, f"{p=} {df=}"
    if p == 0.5:
        return 0.0
    if p > 0.5:
        return -t_quantile(1 - p, df)
    low = -1.0
    while t_cdf(low, df) > p:
        low *= 2
    high, t = 0.0, low / 2
    while high - low > CLOSE * max(1.0, -low):
        wrong = t_cdf(t, df) - p
        low, high = (t, high) if wrong < 0 else (low, t)
        step = t - wrong / max(t_density(t, df), TINY)
        following = step if low < step < high else (low + high) / 2
        if abs(following - t) <= CLOSE * max(1.0, -t):
            return following
        t = following
    return t


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0 <= x <= 1."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log)
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta."""
    c, d = 1.0, 1.0 / _off_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, TERMS):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _off_zero(1 + top * d)
            c = _off_zero(1 + top / c)
            value *= d * c
        if abs(d * c - 1) < CLOSE:
            break
    return value


def _off_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
