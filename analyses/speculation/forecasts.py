"""What another k would give, from the acceptance of today's: `forecast(lane, 3, row_ms, Draft())`.

Fewer drafts: 1 + Σ of the positions that are left, exact for a draft made token by token and verified token by
token; a block that is drafted or verified as one decides differently when it is shorter. More drafts: bounds,
never a point, since nothing was seen there; beyond the block that the draft was trained for the lower bound is
that no new draft is ever kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stepprof.analyses.speculation import rates
from stepprof.analyses.speculation.acceptance import beyond, constant_kept, kept_at, needed_chance
from stepprof.analyses.speculation.draft_lanes import value
from stepprof.analyses.speculation.result import Figure, Forecast, Lane, Needs


@dataclass(frozen=True)
class Draft:
    """How drafts are made and verified, and how many the draft was trained to propose at once."""

    drafts: Literal["sequential", "block"] = "sequential"
    verify: Literal["token", "block"] = "token"
    block: int | None = None


def forecast(lane: Lane, k: int, row_ms: float | None, draft: Draft) -> Forecast:
    """Another k on the steps of a lane; figures are `modelled`."""
    beyond_block = draft.block is not None and k > max(draft.block, lane.k)
    kept = kept_with(lane, k, beyond_block)
    today, now = value(lane.kept), None if lane.step_ms is None else value(lane.step_ms)
    token_wise = draft.drafts == "sequential" and draft.verify == "token"
    step = None if now is None or row_ms is None else rates.with_rows(now, k - lane.k, row_ms)
    if step is not None and step <= 0:
        step = None  # the cost of a row cannot hold so far down
    rate = None if step is None else _over(kept, lambda tokens: rates.tokens_per_s(tokens, step))
    return Forecast(
        k=k,
        kept=kept,
        exact=k < lane.k and token_wise and lane.basis == "by position",
        beyond_block=beyond_block,
        break_even_step_ms=None if now is None else _over(kept, lambda other: rates.break_even_step(now, today, other)),
        step_ms=None if step is None else Figure(step, "modelled"),
        tokens_per_s=rate,
        change=None if rate is None or now is None else _change(rate, rates.tokens_per_s(today, now)),
        threshold_step_ms=_threshold(kept, today, k - lane.k, row_ms),
        needs=None if step is None or now is None else _needs(lane, k, today * step / now),
    )


def kept_with(lane: Lane, k: int, beyond_block: bool = False) -> Figure:
    """Kept tokens with another k: a point below today's k, bounds above it."""
    if k <= lane.k:
        return Figure(kept_at(lane.acceptance, k), "modelled")
    today = value(lane.kept)
    if lane.k == 0:
        return Figure(None, "modelled", today, today + k)
    if lane.basis == "constant":
        assert lane.alpha is not None
        return Figure(None, "modelled", today, constant_kept(lane.alpha, k))
    low, high = beyond(lane.acceptance, k - lane.k, lane.steps)
    return Figure(None, "modelled", today + (0 if beyond_block else low), today + high)


def _needs(lane: Lane, k: int, tokens: float) -> Needs | None:
    """What positions beyond today's must keep so that a step keeps `tokens`."""
    more = k - lane.k
    if more <= 0:
        return None
    total = tokens - value(lane.kept)
    last = lane.acceptance[-1] if lane.acceptance else 1.0
    return Needs(total, total / more, needed_chance(last, more, total))


def _threshold(kept: Figure, today: float, rows: int, row_ms: float | None) -> Figure | None:
    """The step of today's k at which both tie; None without a cost of a row, or where no step makes them tie."""
    if row_ms is None or row_ms <= 0:
        return None

    def tie(other: float) -> float | None:
        return rates.threshold_step(today, other, rows, row_ms)

    if kept.value is not None:
        at = tie(kept.value)
        return None if at is None else Figure(at, "modelled")
    assert kept.low is not None and kept.high is not None
    return Figure(None, "modelled", tie(kept.high), tie(kept.low))  # more kept: pays on shorter steps too


def _change(rate: Figure, today: float) -> Figure:
    return _over(rate, lambda other: rates.change(other, today))


def _over(figure: Figure, of: Callable[[float], float]) -> Figure:
    """A rising function of a figure and of its bounds."""
    made = [None if x is None else of(x) for x in (figure.value, figure.low, figure.high)]
    return Figure(made[0], "modelled", made[1], made[2])
