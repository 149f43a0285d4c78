"""The cost of a draft row, from steps that drafted differently."""

import numpy as np
import pytest

from stepprof.analyses.speculation.row_cost import row_cost
from stepprof.analyses.speculation.step_records import records_of

MS = 1_000_000


def records(*lines):
    """Lines (drafted, class, ms), each twelve times, 0.1 ms to either side of their time in turn."""
    rows = [(d, 1, 1, c, round((ms + 0.1 * (-1) ** i) * MS)) for d, c, ms in lines for i in range(12)]
    return records_of("log", rows, {})


def test_the_slope_is_the_cost_of_a_row():
    cost, reason = row_cost(records((5, None, 11), (3, None, 10)))
    assert reason is None and cost is not None and cost.value is not None
    assert cost.value == pytest.approx(0.5) and cost.kind == "measured"
    # residuals of 0.1 ms over 24 steps, 22 of them free, drafts 1 to either side of their mean
    assert cost.high == pytest.approx(0.5 + 1.96 * (24 * 0.01 / 22 / 24) ** 0.5)
    assert cost.value - (cost.low or 0) == pytest.approx((cost.high or 0) - cost.value)


def test_a_class_that_drafts_more_and_is_slower_anyway_is_no_row():
    same = row_cost(records((5, "a", 11), (3, "a", 10), (7, "b", 31), (5, "b", 30)))[0]
    assert same is not None and same.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (records((5, "a", 11), (3, "b", 10)), "drafted equally many"),
        (records_of("log", [(5, 1, 1, None, 5), (3, 1, 1, None, 3)], {}), "too few"),
        (records_of("log", [(5, 2, 2, None, 5), (3, 2, 2, None, 3)], {}), "several sequences"),
        (records_of("log", [(5, 1, 1, None, -1)], {}), "no times"),
    ],
)
def test_what_cannot_be_told_is_not(found, said):
    cost, reason = row_cost(found)
    assert cost is None and said in (reason or "")


def test_over_many_runs_the_interval_holds_the_cost():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        drafted = rng.integers(2, 6, 100)
        ms = 9 + 0.3 * drafted + rng.normal(0, 0.2, 100)
        rows = [(int(d), 1, 1, None, round(t * MS)) for d, t in zip(drafted, ms, strict=True)]
        cost = row_cost(records_of("log", rows, {}))[0]
        assert cost is not None and cost.low is not None and cost.high is not None
        held += cost.low <= 0.3 <= cost.high
    assert 180 <= held <= 199  # 95 % of 200 is 190, give or take three standard errors
