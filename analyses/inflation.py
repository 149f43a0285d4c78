"""What tracing did to the steps, as the control run beside the capture told: every later output prints it.

    found = tracing_inflation(store)      # None without a control
    found.ratio, found.interval           # traced over untraced step time, with its 95 % interval
    inflation_warning(found)              # for answers that rest on untraced time: what-if, gates
    traced_times(store)                   # for answers that keep neither the run nor all its warnings

All figures are measured (profiler/capture/control.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stepprof.profiler.store import Store

LIMIT = 1.05  # above it an answer about untraced time rests on doubtful ground (DESIGN, CLI contract)
CODE = "tracing_inflation"
OTHER_TIMES = ("cpu_stand_in",)  # warnings of a run whose times are not those of a GPU


@dataclass(frozen=True)
class TracingInflation:
    """Traced over untraced step time; where the control timed the GPU, ratio = 1 + span + prologue."""

    ratio: float
    interval: tuple[float, float] | None  # 95 %; None in runs of before it was kept
    span: float | None = None  # what ops and the gaps between them gained, of the untraced step
    prologue: float | None = None  # what the time before and after them gained


def tracing_inflation(store: Store) -> TracingInflation | None:
    """What the manifest of the run says; None where no control was compared."""
    rows = store.rows("SELECT key, value FROM manifest WHERE key LIKE '%inflation%'")
    found = {key: float(value) for key, value in rows}
    if "tracing_inflation" not in found:
        return None
    low, high = found.get("tracing_inflation_low"), found.get("tracing_inflation_high")
    interval = None if low is None or high is None else (low, high)
    span, prologue = found.get("inflation_span"), found.get("inflation_prologue")
    return TracingInflation(found["tracing_inflation"], interval, span, prologue)


def inflation_warning(found: TracingInflation | None) -> dict[str, Any] | None:
    """A warning for the CLI's list where traced steps were more than 5 % longer, or shorter; None where neither."""
    if found is None or not beyond(found.ratio):
        return None
    why = "times saved in this trace are not the times saved without it"
    if found.ratio < 1:
        why = f"launches of this program differ by more than tracing costs, so {why}"
    text = f"Tracing made a step {times(found)}: {why}."
    return {"code": CODE, "count": 1, "text": text}


def beyond(ratio: float) -> bool:
    """Whether traced steps are so much longer, or shorter, than untraced ones that answers about these are doubtful."""
    return not 1 / LIMIT <= ratio <= LIMIT


def farthest(ratios: Iterable[float]) -> float:
    """The ratio that is farthest from 1, by its logarithm; 1 where there is none."""
    return max(ratios, key=lambda ratio: abs(math.log(ratio)), default=1.0)


def times(found: TracingInflation) -> str:
    """The ratio with its interval, in words."""
    between = "" if found.interval is None else " ({:.2f} to {:.2f})".format(*found.interval)
    return f"{found.ratio:.2f} times as long as untraced{between}"


@dataclass(frozen=True)
class TracedTimes:
    """What is to be said of times that a trace told."""

    inflation: TracingInflation | None
    warnings: tuple[dict[str, Any], ...]  # what makes them other than those of an untraced GPU


def traced_times(store: Store) -> TracedTimes:
    """Of the run's times."""
    inflation = tracing_inflation(store)
    inflated = inflation_warning(inflation)
    found = [warning for warning in store.warnings() if warning["code"] in OTHER_TIMES]
    return TracedTimes(inflation, tuple(found if inflated is None else [*found, inflated]))
