"""How many drafts are kept: acceptance by position, the constant fitted to it, kept tokens for other k.

`a[i]` is P(the first i + 1 drafts are kept): never rising, unconditional. A step keeps 1 + Σ a tokens, the
token after the drafts included. With one constant alpha for every position a[i] = alpha^(i+1), and
L(k) = (1 − alpha^(k+1)) / (1 − alpha) (Leviathan et al., arXiv 2211.17192).

    by_position(np.array([5, 5, 2, 0]), 5)   # accepted drafts of four steps -> 0.75, 0.75, 0.5, 0.5, 0.5
    fitted_alpha(5.27, 5)                    # 0.9478
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepprof.analyses.ops import Ints

ROUNDS = 60  # of a bisection in [0, 1]; more than a float can tell apart
TWO_SIDED = 1.96  # standard errors to each side that hold 95 %


def by_position(accepted: Ints, k: int) -> tuple[float, ...]:
    """P(first i drafts kept), i = 1 … k, from the accepted drafts of steps that all drafted k; [steps] -> k values."""
    counts = np.bincount(np.minimum(accepted, k), minlength=k + 1)
    reached = counts[::-1].cumsum()[::-1]  # steps that kept at least i drafts
    return tuple((reached[1:] / max(1, len(accepted))).tolist())


def kept_at(acceptance: Sequence[float], k: int) -> float:
    """Kept tokens with the first k positions alone."""
    return 1 + float(sum(acceptance[:k]))


def conditional(acceptance: Sequence[float]) -> list[float]:
    """P(draft i kept | those before it were); 0 where none got that far."""
    before = [1.0, *acceptance[:-1]]
    return [now / b if b else 0.0 for now, b in zip(acceptance, before, strict=True)]


def constant_acceptance(alpha: float, k: int) -> tuple[float, ...]:
    """Acceptance by position with the same chance at each."""
    return tuple(alpha**i for i in range(1, k + 1))


def constant_kept(alpha: float, k: int) -> float:
    """L(k) with a constant alpha; as a sum, since the closed form loses its digits near 1."""
    return kept_at(constant_acceptance(alpha, k), k)


def fitted_alpha(kept: float, k: int) -> float:
    """The constant that keeps this many tokens of k drafts; `kept` from 1 to k + 1."""
    assert 1 <= kept <= k + 1, f"{kept=} {k=}"
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if constant_kept(middle, k) < kept else (low, middle)
    return (low + high) / 2


def alpha_of_equal_rates(k: int, other: int, step_ms: float, row_ms: float) -> float | None:
    """The constant at which k and `other` < k give the same tokens/s; below it the shorter draft is faster.

    None where one of them always is. `step_ms` is the step with k drafts.
    """
    ratio = 1 + (other - k) * row_ms / step_ms
    if not (other + 1) / (k + 1) < ratio < 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):  # L(other) / L(k) falls from 1 to (other + 1) / (k + 1) as alpha grows
        middle = (low + high) / 2
        more = constant_kept(middle, other) / constant_kept(middle, k) > ratio
        low, high = (middle, high) if more else (low, middle)
    return (low + high) / 2


def beyond(acceptance: Sequence[float], more: int, steps: int | None) -> tuple[float, float]:
    """Bounds of Σ a over `more` positions after the last known one.

    High: every new draft is kept as often as the last known one. Low: as often as the worst known one, and
    falling on as the trend over the known positions does. Where `steps` stand behind the figures, the chances
    are moved by the 95 % sampling error of the last one first.
    """
    chances = conditional(acceptance)
    reached = acceptance[-2] if len(acceptance) > 1 else 1.0
    error = _sampling_error(chances[-1], None if steps is None else steps * reached)
    slope = min(0.0, _slope(chances))
    bounds = [
        _sum(acceptance[-1], [min(max(start + fall * i, 0.0), 1.0) for i in range(1, more + 1)])
        for start, fall in ((min(chances) - error, slope), (chances[-1] + error, 0.0))
    ]
    return bounds[0], bounds[1]


def needed_chance(last: float, more: int, total: float) -> float | None:
    """The chance of each new draft with which `more` positions add up to `total`; None where certainty falls short."""
    if total > last * more:
        return None
    low, high = 0.0, 1.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if _sum(last, [middle] * more) < total else (low, middle)
    return (low + high) / 2


def _sum(last: float, chances: Sequence[float]) -> float:
    """Σ of the acceptance at new positions, from the last known one and the chance at each."""
    return float(last * np.cumprod(np.array(chances)).sum())


def _slope(values: Sequence[float]) -> float:
    """Least-squares slope of values at 0, 1, 2 …; 0 for one alone."""
    if len(values) < 2:
        return 0.0
    x = np.arange(len(values)) - (len(values) - 1) / 2
    return float(x @ np.array(values) / (x @ x))


def _sampling_error(chance: float, seen: float | None) -> float:
    """Half of the 95 % interval of a share by Wilson, which is not 0 at a share of 0 or 1; 1 where nothing was seen."""
    if seen is None:
        return 0.0
    if seen <= 0:
        return 1.0
    z2 = TWO_SIDED**2
    spread = (chance * (1 - chance) / seen + z2 / (4 * seen**2)) ** 0.5
    return float(TWO_SIDED * spread / (1 + z2 / seen))
