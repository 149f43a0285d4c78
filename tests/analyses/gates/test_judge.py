"""Verdicts in their order, and the field notes' afternoon as a gate."""

import pytest

from stepprof.analyses.gates.judge import Bar, Judged, agree, decide, judge, judge_rounds, rule_met
from stepprof.analyses.statistics import Shift

BAR = Bar(-0.100)
BAND = (11.14, 11.15, 11.20, 11.21)  # the posts' controls: their range, and the SD of 0.034 that goes with four
MIDDLE = sum(BAND) / 4


def arm(mean: float, band: tuple[float, ...] = BAND) -> list[float]:
    """Launches spread as the controls are, around another mean."""
    return [value - MIDDLE + mean for value in band]


def gate(control: float, candidate: float) -> Judged:
    return judge(arm(control), arm(candidate), BAR)


def shift(low: float, estimate: float, high: float) -> Shift:
    return Shift(estimate, 1, 4, low, high)


@pytest.mark.parametrize(
    ("low", "estimate", "high", "floor", "verdict"),
    [
        (-30, -20, -10, 1, "PASS_CI"),  # the interval just reaches the bar
        (-9, -5, -1, 1, "FAIL"),  # better than before, but surely not by the bar
        (-10, -9, -8, 1, "AMBIGUOUS"),  # the interval ends at the bar: not beyond it
        (-20, -12, -4, 1, "PASS_POINT"),
        (-20, -12, -4, 12, "AMBIGUOUS"),  # within the noise floor
        (-25, -12, 1, 1, "AMBIGUOUS"),  # the interval holds 0
        (-20, -10, -1, 1, "PASS_POINT"),  # the estimate is at the bar
        (-20, -9.9, -1, 1, "AMBIGUOUS"),
    ],
)
def test_verdicts_in_their_order(low, estimate, high, floor, verdict):
    assert decide(shift(low, estimate, high), floor, Bar(-10)) == verdict
    assert decide(shift(-high, -estimate, -low), floor, Bar(10, "higher")) == verdict


def test_a_bar_that_allows_a_loss():
    """At most +1: no regression beyond that."""
    assert decide(shift(-0.5, 0.2, 0.9), 5, Bar(1)) == "PASS_CI"
    assert decide(shift(1.5, 2, 3), 0.1, Bar(1)) == "FAIL"


def test_the_afternoon():
    """11.1824 against 11.0655: −0.1169 ms, 1.05 %; the replicate −0.142; together −0.1295."""
    h1, pr1 = gate(11.1824, 11.0655), gate(11.142, 11.000)
    assert h1.delta.estimate == pytest.approx(-0.1169)
    assert 100 * h1.delta.estimate / 11.1824 == pytest.approx(-1.05, abs=0.005)
    assert pr1.delta.estimate == pytest.approx(-0.142)

    both = judge_rounds([h1, pr1], BAR)
    assert both.delta.estimate == pytest.approx(-0.12945)
    assert (h1.verdict, pr1.verdict) == ("PASS_POINT", "PASS_POINT")
    assert rule_met("point", [h1, pr1], 2, both) == (True, "the registered rule is met")


def test_the_afternoon_does_not_prove_its_bar():
    """Under rule = ci the pair is PASS_POINT: the upper bound is near −0.08."""
    rounds = [gate(11.1824, 11.0655), gate(11.142, 11.000)]
    both = judge_rounds(rounds, BAR)
    assert both.verdict == "PASS_POINT"
    assert both.delta.high == pytest.approx(-0.08, abs=0.01)
    met, why = rule_met("ci", rounds, 2, both)
    assert not met and "requires a replicate" in why


def test_one_round_of_two_wanted_is_not_enough():
    h1 = gate(11.1824, 11.0655)
    assert rule_met("point", [h1], 2, h1) == (False, "1 of 2 registered rounds are still to be run")


def test_replicates_that_differ_in_sign_decide_nothing():
    rounds = [judge(arm(11.2), arm(10.2), BAR), judge(arm(11.2), arm(11.3), BAR)]
    both = judge_rounds(rounds, BAR)
    assert not agree(rounds) and both.verdict == "AMBIGUOUS"
    assert rule_met("point", rounds, 2, both) == (False, "the replicates differ in sign")


def test_every_round_must_pass_under_rule_point():
    rounds = [judge(arm(11.2), arm(10.2), BAR), judge(arm(11.2), arm(11.19), BAR)]
    met, why = rule_met("point", rounds, 2, judge_rounds(rounds, BAR))
    assert not met and why == "1 of 2 rounds did not pass (FAIL)"


def test_a_bar_in_percent_of_control():
    """100, 101, 102 against half of that: −50 of 101, so −49.5 %."""
    found = judge([100, 101, 102], [50, 51, 52], Bar(-49, percent=True))
    assert found.delta.estimate == pytest.approx(-50 / 1.01)


def test_figures_that_improve_upwards():
    found = judge([300, 301, 302], [310, 311, 312], Bar(5, "higher"))
    assert (found.delta.estimate, found.verdict) == (10, "PASS_CI")


def test_equal_launches_decide_exactly():
    assert judge([5, 5], [4, 4], Bar(-1)).verdict == "PASS_CI"
    assert judge([5, 5], [4.5, 4.5], Bar(-1)).verdict == "FAIL"
