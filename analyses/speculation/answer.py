"""What speculative decode gives, and what another k or another step would: stepprof speculate.

speculate(Ask(to=(3, 7)), Given(kept=5.27, step_ms=11.07, k=5))             # the user's figures
speculate(Ask(), Given(), traced_records(store, Question()))                # a trace with facts
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stepprof.analyses.inflation import TracedTimes
from stepprof.analyses.speculation import rates
from stepprof.analyses.speculation.draft_lanes import Given, check, groups, lanes, value
from stepprof.analyses.speculation.forecasts import Draft, forecast
from stepprof.analyses.speculation.result import Figure, Lane, Rate, Speculation
from stepprof.analyses.speculation.row_cost import row_cost
from stepprof.analyses.speculation.step_records import Records, TracedStep

TABLE_LINES = 6


@dataclass(frozen=True)
class Ask:
    """What is wanted: other k, lines of the table, rates to reach, and how the drafts are made."""

    to: tuple[int, ...] = ()
    table_ms: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()
    draft: Draft = field(default_factory=Draft)


def speculate(ask: Ask, given: Given, records: Records | None = None, step: TracedStep | None = None) -> Speculation:
    """The whole answer; `step` is that of a trace without facts.

    Raises UsageError where given figures contradict each other, Refused where too few are there.
    """
    check(given)
    row, reason = (
        (None, "no steps with different k are given; --row-ms is what one costs")
        if records is None
        else row_cost(records)
    )
    if given.row_ms is not None:
        row, reason = Figure(given.row_ms, "quoted"), None
    row_ms = None if row is None else row.value
    found = [_with_forecasts(lane, ask, row_ms) for lane in lanes(given, records, step and step.ms)]
    first = found[0]
    traced = _traced(given, records, step)
    return Speculation(
        source="given figures" if records is None else records.source,
        lanes=tuple(found),
        groups=() if records is None else tuple(groups(records)),
        row_ms=row,
        row_ms_reason=reason,
        block=ask.draft.block,
        table=tuple(_rate(first, ms) for ms in ask.table_ms or _lines(first)),
        targets=tuple(Rate(rates.step_for(value(first.kept), rate), rate) for rate in ask.rates),
        left_out={} if records is None else records.left_out,
        traced=traced is not None,
        inflation=traced and traced.inflation,
        warnings=(*(traced.warnings if traced else ()), *_warnings(found, ask, records)),
    )


def _traced(given: Given, records: Records | None, step: TracedStep | None) -> TracedTimes | None:
    """What is to be said of the times that are of a trace; None where none is."""
    if records is not None:
        return records.traced
    return step.traced if step is not None and given.step_ms is None else None


def _with_forecasts(lane: Lane, ask: Ask, row_ms: float | None) -> Lane:
    to = ask.to or tuple(range(max(0, lane.k - 3), lane.k + 3))
    made = [forecast(lane, k, row_ms, ask.draft) for k in sorted(set(to)) if k != lane.k]
    return replace(lane, forecasts=tuple(made))


def _rate(lane: Lane, step_ms: float) -> Rate:
    return Rate(step_ms, rates.tokens_per_s(value(lane.kept), step_ms))


def _lines(lane: Lane) -> list[float]:
    """Today's step and round ones below it."""
    if lane.step_ms is None:
        return []
    step = value(lane.step_ms)
    power = 10 ** math.floor(math.log10(step / 8))
    unit = max(power * m for m in (1, 2, 5) if power * m <= step / 8)
    top = math.ceil(step / unit) - 1
    return [step, *(round(n * unit, 9) for n in range(top, top - TABLE_LINES, -1))]


def _warnings(found: Sequence[Lane], ask: Ask, records: Records | None) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []

    def warn(code: str, count: int, text: str) -> None:
        made.append({"code": code, "count": count, "text": text})

    constant = [lane for lane in found if lane.basis == "constant"]
    if constant:
        why = "a batch's facts are sums" if records is not None and constant[0].steps else "only kept tokens are given"
        warn(
            "constant_acceptance",
            len(constant),
            f"acceptance by position is not known ({why}): one constant is fitted.",
        )
    unproven = [f.k for f in found[0].forecasts if f.k < found[0].k and not f.exact]
    if unproven and found[0].basis == "by position":
        text = (
            "a block that is drafted or verified as one decides differently when shorter: fewer drafts are approximate."
        )
        warn("approximate", len(unproven), text)
    outside = [f.k for f in found[0].forecasts if f.beyond_block]
    if outside:
        ks = ", ".join(map(str, outside))
        text = f"k = {ks} is beyond the block of {ask.draft.block} that the draft was trained for: extrapolated."
        warn("beyond_block", len(outside), text)
    for reason, count in ({} if records is None else records.left_out).items():
        warn("facts_left_out", count, f"{count} facts are left out: {reason}.")
    return made
