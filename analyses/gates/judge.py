"""The verdict of numbers alone: PASS_CI, PASS_POINT, AMBIGUOUS, FAIL, NO_DATA.

    judged = judge(control, candidate, Bar(-0.100, "lower"))
    judged.verdict, judged.delta.high

Tested in this order, never forced: PASS_CI the whole interval is on the good side of the bar; FAIL the
whole interval is on the bad side; PASS_POINT the estimate is on the good side, the interval leaves 0 out
and the estimate is larger than the noise floor; else AMBIGUOUS. Inside, lower is better: figures
that improve upwards are turned, and so are their bars.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from stepprof.analyses.compare.metrics import Better
from stepprof.analyses.statistics import (
    PermutationP,
    Shift,
    combined,
    hodges_lehmann,
    noise_floor,
    permutation_p,
    welch,
)
from stepprof.analyses.statistics.welch import LEVEL

Verdict = Literal["PASS_CI", "PASS_POINT", "AMBIGUOUS", "FAIL", "NO_DATA"]
PASSES = ("PASS_CI", "PASS_POINT")


@dataclass(frozen=True)
class Bar:
    """The pass mark for candidate − control, in the figure's unit or in percent of the control's mean."""

    value: float
    better: Better = "lower"
    percent: bool = False


@dataclass(frozen=True)
class Judged:
    """One round, or several combined; `delta` is candidate − control in the unit of the bar."""

    control: list[float]
    candidate: list[float]
    delta: Shift
    noise_floor: float
    verdict: Verdict
    shift: float | None = None  # Hodges–Lehmann
    permutation: PermutationP | None = None

    @property
    def sign(self) -> float:
        """Of the estimate."""
        return math.copysign(1.0, self.delta.estimate) if self.delta.estimate else 0.0


def judge(control: Sequence[float], candidate: Sequence[float], bar: Bar, level: float = LEVEL) -> Judged:
    """One round; two launches an arm or more."""
    scale = 100 / float(np.mean(control)) if bar.percent else 1.0
    a, b = ([value * scale for value in arm] for arm in (control, candidate))
    floor = noise_floor(a, len(b))
    assert floor is not None, f"{len(control)=}"
    delta = welch(a, b, level)
    return Judged(
        list(control),
        list(candidate),
        delta,
        floor,
        decide(delta, floor, bar),
        hodges_lehmann(a, b),
        permutation_p(a, b),
    )


def judge_rounds(rounds: Sequence[Judged], bar: Bar) -> Judged:
    """Replicates as one by inverse variance; AMBIGUOUS where they differ in sign."""
    if len(rounds) == 1:
        return rounds[0]
    delta = combined([one.delta for one in rounds])
    floor = math.sqrt(sum(one.noise_floor**2 for one in rounds)) / len(rounds)
    together = Judged(
        [value for one in rounds for value in one.control],
        [value for one in rounds for value in one.candidate],
        delta,
        floor,
        decide(delta, floor, bar),
    )
    return together if agree(rounds) else replace(together, verdict="AMBIGUOUS")


def agree(rounds: Sequence[Judged]) -> bool:
    """Whether all estimates have one sign."""
    return len({one.sign for one in rounds}) == 1


def decide(delta: Shift, floor: float, bar: Bar) -> Verdict:
    """The verdict of an interval."""
    turned = bar.better == "higher"
    seen, limit = (delta.turned(), -bar.value) if turned else (delta, bar.value)
    if seen.high <= limit:
        return "PASS_CI"
    if seen.low > limit:
        return "FAIL"
    if seen.estimate <= limit and not seen.low <= 0 <= seen.high and abs(seen.estimate) > floor:
        return "PASS_POINT"
    return "AMBIGUOUS"


def rule_met(rule: Literal["point", "ci"], rounds: Sequence[Judged], wanted: int, together: Judged) -> tuple[bool, str]:
    """Whether the registered rule is met, and why (not)."""
    if not agree(rounds):
        return False, "the replicates differ in sign"
    if rule == "ci":
        if together.verdict == "PASS_POINT":
            return False, "the estimate passes but the interval does not: rule = ci requires a replicate"
        if together.verdict != "PASS_CI":
            return False, "the interval is not on the good side of the bar"
    elif failed := [one.verdict for one in rounds if one.verdict not in PASSES]:
        return False, f"{len(failed)} of {len(rounds)} rounds did not pass ({', '.join(failed)})"
    if len(rounds) < wanted:
        return False, f"{wanted - len(rounds)} of {wanted} registered rounds are still to be run"
    return True, "the registered rule is met"
