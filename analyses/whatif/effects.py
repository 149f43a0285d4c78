"""What a change of the step means: the step after it, tokens/s, the table of step times.

    base = Base(step_ms=11.07, period_ms=None, kept=Figure(5.27, "quoted"))
    effect(base, Figure(-0.14, "modelled", -0.18, -0.10))

tokens/s is kept tokens over the period, start to start; a change of the step is one of the period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stepprof.analyses.speculation import rates
from stepprof.analyses.speculation.result import Figure, Rate
from stepprof.analyses.whatif.result import Effect


@dataclass(frozen=True)
class Base:
    """Today's step."""

    step_ms: float  # p50 of the windows, measured
    period_ms: float | None  # start to start, measured
    kept: Figure | None  # tokens a step

    @property
    def rate_ms(self) -> float:
        """The time that tokens/s goes by."""
        return self.step_ms if self.period_ms is None else self.period_ms


def effect(base: Base, delta: Figure, so_far: Figure | None = None, kept: Figure | None = None) -> Effect:
    """A change on top of today's step, or the last of several that come to `so_far`; with other kept tokens if given."""
    change = so_far or delta
    return Effect(delta, shifted(change, base.step_ms), rate(shifted(change, base.rate_ms), kept or base.kept))


def shifted(change: Figure, by: float) -> Figure:
    """A figure with something added to it."""
    low, value, high = (None if x is None else x + by for x in (change.low, change.value, change.high))
    return Figure(value, "modelled", low, high)


def rate(step: Figure, kept: Figure | None) -> Figure | None:
    """tokens/s of a step with bounds; the longer step and the fewer tokens are the lower bound."""
    if kept is None:
        return None

    def over(tokens: float | None, ms: float | None) -> float | None:
        return None if tokens is None or ms is None or ms <= 0 else rates.tokens_per_s(tokens, ms)

    least, most = (kept.value if x is None else x for x in (kept.low, kept.high))
    return Figure(over(kept.value, step.value), "modelled", over(least, step.high), over(most, step.low))


def today_rate(base: Base) -> Figure | None:
    """Today's tokens/s, of the kind that the kept tokens are."""
    if base.kept is None or base.kept.value is None:
        return None
    return replace(base.kept, value=rates.tokens_per_s(base.kept.value, base.rate_ms), low=None, high=None)


def table(base: Base, lines_ms: Sequence[float]) -> tuple[Rate, ...]:
    """Step time -> tokens/s at today's kept tokens."""
    if base.kept is None or base.kept.value is None:
        return ()
    return tuple(Rate(ms, rates.tokens_per_s(base.kept.value, ms)) for ms in lines_ms if ms > 0)


def targets(base: Base, wanted: Sequence[float]) -> tuple[Rate, ...]:
    """The step that each wanted rate takes."""
    if base.kept is None or base.kept.value is None:
        return ()
    return tuple(Rate(rates.step_for(base.kept.value, tokens), tokens) for tokens in wanted)
