"""The arithmetic of a decode step: tokens/s, kept tokens and step time, each from the other two.

    tokens_per_s(kept=5.27, step_ms=11.07)       # 476
    break_even_step(11.07, 5.27, 3.692)          # 7.755: with k = 3 the step would have to be this short

Kept tokens are those of one step, the token after the drafts included; step times are ms. Over many
steps put sums in, never means of ratios: kept tokens and step time go together (a longer block, more
sidecar calls).
"""

from __future__ import annotations


def tokens_per_s(kept: float, step_ms: float) -> float:
    """Kept tokens over their time."""
    return 1000 * kept / step_ms


def step_for(kept: float, rate: float) -> float:
    """The step, ms, at which `kept` tokens make `rate` tokens/s."""
    return 1000 * kept / rate


def kept_for(rate: float, step_ms: float) -> float:
    """The kept tokens that make `rate` tokens/s with this step."""
    return rate * step_ms / 1000


def break_even_step(step_ms: float, kept: float, other_kept: float) -> float:
    """The step, ms, at which another number of kept tokens gives the same tokens/s."""
    return step_ms * other_kept / kept


def break_even_kept(kept: float, step_ms: float, other_step_ms: float) -> float:
    """The kept tokens at which another step time gives the same tokens/s."""
    return kept * other_step_ms / step_ms


def with_rows(step_ms: float, rows: int, row_ms: float) -> float:
    """The step with `rows` more draft rows (fewer where negative), each of the same cost."""
    return step_ms + rows * row_ms


def threshold_step(kept: float, other_kept: float, rows: int, row_ms: float) -> float | None:
    """The step, ms, at which `rows` more rows change nothing; None where they change no kept tokens.

    From T·L(k')/L(k) = T + rows·row_ms. More rows pay on steps longer than this, fewer rows on shorter ones:
    the cost of a row weighs less on a long step.
    """
    gain = other_kept - kept
    return None if gain == 0 else rows * row_ms * kept / gain


def change(after: float, before: float) -> float:
    """after ÷ before − 1."""
    return after / before - 1
