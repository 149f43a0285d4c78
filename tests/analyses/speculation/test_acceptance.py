"""Acceptance by position, the fitted constant, and what lies beyond the known positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepprof.analyses.speculation import acceptance as acc

# acceptance by position of two public logs (vllm-ascend#13640, quoted)
LOGS = [(0.739, 0.478, 0.261, 0.174, 0.130, 0.087, 0.043), (0.691, 0.418, 0.382, 0.182, 0.127, 0.073, 0.055)]


def test_by_position_counts_steps_that_got_so_far():
    assert acc.by_position(np.array([5, 5, 2, 0]), 5) == (0.75, 0.75, 0.5, 0.5, 0.5)
    assert acc.by_position(np.array([], dtype=np.int64), 2) == (0.0, 0.0)


@pytest.mark.parametrize(("log", "kept"), [(LOGS[0], 2.91), (LOGS[1], 2.93)])
def test_kept_tokens_of_public_logs(log, kept):
    assert acc.kept_at(log, 7) == pytest.approx(kept, abs=0.005)


def test_conditional():
    assert acc.conditional((0.5, 0.25, 0.0, 0.0)) == [0.5, 0.5, 0.0, 0.0]


@given(alpha=st.floats(0, 1), k=st.integers(1, 20))
def test_the_fitted_constant_keeps_what_it_was_fitted_to(alpha: float, k: int):
    kept = acc.constant_kept(alpha, k)
    assert kept == pytest.approx(acc.kept_at(acc.constant_acceptance(alpha, k), k), rel=1e-6)
    assert acc.constant_kept(acc.fitted_alpha(kept, k), k) == pytest.approx(kept, rel=1e-9)


def test_constants_at_the_ends():
    assert acc.constant_kept(1, 5) == 6
    assert acc.fitted_alpha(1, 5) == pytest.approx(0, abs=1e-12)
    assert acc.fitted_alpha(6, 5) == pytest.approx(1)


def test_both_drafts_are_equal_at_that_constant():
    alpha = acc.alpha_of_equal_rates(5, 2, 10, 1)  # 10 ms with 5 drafts, 7 ms with 2
    assert alpha is not None
    assert acc.constant_kept(alpha, 2) / 7 == pytest.approx(acc.constant_kept(alpha, 5) / 10)
    # rows that cost nothing, or more than half of what they could keep
    assert acc.alpha_of_equal_rates(5, 2, 10, 0) is None
    assert acc.alpha_of_equal_rates(5, 2, 10, 2) is None


@pytest.mark.parametrize("log", LOGS)
def test_bounds_of_public_logs_hold_what_came(log):
    low, high = acc.beyond(log[:5], 2, None)
    assert low < sum(log[5:]) < high


def test_bounds_of_a_constant_are_one_point_and_open_up_with_few_steps():
    known = acc.constant_acceptance(0.5, 3)
    assert acc.beyond(known, 2, None) == pytest.approx((0.125 * 0.75, 0.125 * 0.75))
    many, few = acc.beyond(known, 2, 10_000), acc.beyond(known, 2, 100)
    assert few[0] < many[0] < 0.125 * 0.75 < many[1] < few[1]


def test_positions_that_nobody_reached_may_keep_nothing():
    assert acc.beyond((0.5, 0.0, 0.0), 1, 10) == (0.0, 0.0)


def test_needed_chance():
    assert acc.needed_chance(0.5, 2, 0.375) == pytest.approx(0.5)  # 0.25 + 0.125
    assert acc.needed_chance(0.5, 2, 1.1) is None
    assert acc.needed_chance(0.5, 2, 0.0) == pytest.approx(0, abs=1e-12)
