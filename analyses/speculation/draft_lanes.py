"""Today's figures of speculative decode: lanes (all steps, then each class) and groups by class and k.

    lanes(Given(kept=5.27, step_ms=11.07, k=5), None)    # the user's figures
    lanes(Given(), records)                               # those of a trace or a log

tokens/s is Σ kept ÷ Σ time over steps. A given figure stands above a recorded one and is tagged `quoted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.speculation import rates
from stepprof.analyses.speculation.acceptance import by_position, constant_acceptance, fitted_alpha, kept_at
from stepprof.analyses.speculation.result import Figure, Group, Lane
from stepprof.analyses.speculation.step_records import Records
from stepprof.profiler.errors import Refused, UsageError

SAME_KEPT = 0.01  # --kept and 1 + Σ --acceptance may differ by this much, for rounding


@dataclass(frozen=True)
class Given:
    """Figures the user brings; they are `quoted`."""

    kept: float | None = None
    step_ms: float | None = None
    k: int | None = None
    acceptance: tuple[float, ...] | None = None
    row_ms: float | None = None


def check(given: Given) -> None:
    """UsageError where given figures contradict each other."""
    a = given.acceptance
    if a is not None and (not a or not all(0 <= x <= 1 for x in a) or any(b > x for x, b in pairwise(a))):
        raise UsageError("--acceptance takes P(first i drafts kept), i = 1 … k: from 0 to 1, never rising.")
    if a is not None and given.k not in (None, len(a)):
        raise UsageError(f"--acceptance has {len(a)} positions and --k is {given.k}: make them the same.")
    if a is not None and given.kept is not None and abs(kept_at(a, len(a)) - given.kept) > SAME_KEPT:
        raise UsageError(
            f"--acceptance means {kept_at(a, len(a)):.3f} kept tokens and --kept says {given.kept}: give one."
        )
    if given.kept is not None and given.k is not None and not 1 <= given.kept <= given.k + 1:
        raise UsageError(f"--kept {given.kept} cannot be with --k {given.k}: a step keeps 1 to k + 1 tokens.")


def lanes(given: Given, records: Records | None, step: Figure | None = None) -> list[Lane]:
    """All steps first; classes only where nothing that differs between them is given.

    `step` is that of a trace without facts.
    """
    if records is None or given.kept is not None or given.acceptance is not None:
        return [_given_lane(given, records, step)]
    k = _usual_k(records) if given.k is None else given.k
    mine = records.only(records.drafted == k)
    if not len(mine):
        has = ", ".join(str(n) for n in np.unique(records.drafted).tolist())
        raise UsageError(f"no step of {records.source} drafted {k}; its steps drafted {has}.")
    codes = [code for code in np.unique(mine.class_).tolist() if code != UNKNOWN]
    every = [_lane(None, k, mine, given)]
    if len(codes) < 2 and UNKNOWN not in mine.class_:
        return every
    return every + [_lane(mine.classes[code], k, mine.only(mine.class_ == code), given) for code in codes]


def groups(records: Records) -> list[Group]:
    """Steps by k, and by class and k where there are classes."""
    made: list[Group] = []
    for code in [None, *np.unique(records.class_).tolist()]:
        mine = records if code is None else records.only(records.class_ == code)
        class_ = None if code is None or code == UNKNOWN else records.classes[code]
        if code is None or class_ is not None:
            made += [_group(class_, k, mine.only(mine.drafted == k)) for k in np.unique(mine.drafted).tolist()]
    return made


def _given_lane(given: Given, records: Records | None, step: Figure | None) -> Lane:
    """A lane on given kept tokens; the step is given too, or that of the trace."""
    k = given.k if given.acceptance is None else len(given.acceptance)
    if k is None:
        k = None if records is None else _usual_k(records)
    if k is None:
        raise UsageError("--k is missing: how many tokens each step drafts.")
    kept = given.kept if given.acceptance is None else kept_at(given.acceptance, k)
    if kept is None:
        raise Refused("nothing says how many tokens a step keeps: give --kept, --acceptance, or a trace with facts.")
    if not 1 <= kept <= k + 1:
        raise UsageError(f"--kept {kept} cannot be with {k} drafts: a step keeps 1 to k + 1 tokens.")
    if given.step_ms is not None:
        step = Figure(given.step_ms, "quoted")
    elif records is not None:
        step = _step_ms(records.only(records.drafted == k))
    return _made_lane(None, k, None, Figure(kept, "quoted"), step, given.acceptance)


def _lane(class_: str | None, k: int, mine: Records, given: Given) -> Lane:
    sequences = int(mine.batch.sum())
    kept = Figure(int(mine.kept.sum()) / sequences, mine.kept_kind)
    step = _step_ms(mine) if given.step_ms is None else Figure(given.step_ms, "quoted")
    return _made_lane(class_, k, len(mine), kept, step, _acceptance(mine, k))


def _made_lane(
    class_: str | None, k: int, steps: int | None, kept: Figure, step: Figure | None, acceptance: Sequence[float] | None
) -> Lane:
    alpha = fitted_alpha(value(kept), k) if k else None
    known = acceptance if acceptance is not None else constant_acceptance(alpha or 0.0, k)
    rate = None
    if step is not None:
        kind = "quoted" if "quoted" in (kept.kind, step.kind) else kept.kind
        rate = Figure(rates.tokens_per_s(value(kept), value(step)), kind)
    basis = "constant" if acceptance is None else "by position"
    return Lane(class_, k, steps, kept, step, rate, basis, tuple(known), alpha, ())


def _group(class_: str | None, k: int, mine: Records) -> Group:
    kept = int(mine.kept.sum()) / len(mine)
    step, p50 = _step_ms(mine), None
    if mine.period_ns is not None:
        p50 = Figure(float(np.median(mine.period_ns)) / 1e6, "measured")
    rate = None if step is None else Figure(rates.tokens_per_s(kept, value(step)), mine.kept_kind)
    return Group(class_, k, len(mine), Figure(kept, mine.kept_kind), _acceptance(mine, k), step, p50, rate)


def _acceptance(mine: Records, k: int) -> tuple[float, ...] | None:
    """By position; None where facts are sums over a batch."""
    return None if (mine.batch > 1).any() else by_position(mine.kept - 1, k)


def _step_ms(mine: Records) -> Figure | None:
    if mine.period_ns is None or not len(mine):
        return None
    return Figure(int(mine.period_ns.sum()) / len(mine) / 1e6, "measured")


def _usual_k(records: Records) -> int:
    """The k of most steps; the larger of equals."""
    ks, count = np.unique(records.drafted, return_counts=True)
    return int(ks[len(ks) - 1 - int(np.argmax(count[::-1]))])


def value(figure: Figure) -> float:
    """The number of a figure that has one."""
    assert figure.value is not None
    return figure.value
