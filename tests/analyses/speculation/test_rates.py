"""Tokens/s, kept tokens and step time from each other, in numbers that can be checked by hand."""

import pytest

from stepprof.analyses.speculation import rates


def test_each_from_the_other_two():
    assert rates.tokens_per_s(4, 8) == 500
    assert rates.step_for(4, 500) == 8
    assert rates.kept_for(500, 8) == 4


def test_break_even_is_where_the_rates_are_equal():
    step = rates.break_even_step(10, 5, 4)
    assert step == 8 and rates.tokens_per_s(4, step) == rates.tokens_per_s(5, 10)
    kept = rates.break_even_kept(5, 10, 8)
    assert kept == 4 and rates.tokens_per_s(kept, 8) == rates.tokens_per_s(5, 10)


@pytest.mark.parametrize(("other_kept", "rows"), [(6.0, 2), (3.0, -2)])
def test_more_rows_pay_above_the_threshold_and_fewer_below_it(other_kept: float, rows: int):
    at = rates.threshold_step(5, other_kept, rows, 0.5)
    assert at is not None and at == {2: 5.0, -2: 2.5}[rows]

    def gain(step: float) -> float:
        return rates.change(
            rates.tokens_per_s(other_kept, rates.with_rows(step, rows, 0.5)), rates.tokens_per_s(5, step)
        )

    assert gain(at) == pytest.approx(0)
    assert (gain(at + 1) > 0) == (rows > 0) and (gain(at - 1) > 0) == (rows < 0)


def test_rows_that_keep_nothing_never_tie():
    assert rates.threshold_step(5, 5, 2, 0.5) is None
