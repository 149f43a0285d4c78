"""Today's figures and those of another k: numbers that can be added up by hand."""

import pytest

from stepprof.analyses.inflation import TracedTimes, TracingInflation
from stepprof.analyses.speculation.answer import Ask, speculate
from stepprof.analyses.speculation.draft_lanes import Given
from stepprof.analyses.speculation.forecasts import Draft
from stepprof.analyses.speculation.result import Figure, Forecast, Speculation
from stepprof.analyses.speculation.step_records import TracedStep, records_of
from stepprof.profiler.errors import Refused, UsageError

MS = 1_000_000
# (drafted, kept, batch, class, ns)
FOUR = [(2, 3, 1, "code", 10 * MS), (2, 2, 1, "code", 10 * MS), (2, 1, 1, "prose", 6 * MS), (2, 2, 1, "prose", 6 * MS)]
COST = TracingInflation(1.5, (1.4, 1.6))
TRACED = TracedStep(
    Figure(10, "measured"), TracedTimes(COST, ({"code": "tracing_inflation", "count": 1, "text": "."},))
)
POSTS = Given(kept=5.27, step_ms=11.07, k=5, row_ms=0.335)


def codes(result: Speculation) -> list[str]:
    return [warning["code"] for warning in result.warnings]


def to(k: int, given: Given = POSTS, draft: Draft | None = None) -> Forecast:
    """The forecast of one k from given figures."""
    return speculate(Ask(to=(k,), draft=draft or Draft()), given).lanes[0].forecasts[0]


def test_tokens_per_s_is_a_ratio_of_sums():
    result = speculate(Ask(), Given(), records_of("log", FOUR, {}))
    every, code, prose = result.lanes
    assert every.tokens_per_s == Figure(1000 * 8 / 32, "measured")  # not the mean of 250 and 250, 167 and 333
    assert (every.kept, every.step_ms) == (Figure(2, "measured"), Figure(8, "measured"))
    assert (code.class_, code.tokens_per_s) == ("code", Figure(250, "measured"))
    assert (prose.class_, prose.kept, prose.tokens_per_s) == ("prose", Figure(1.5, "measured"), Figure(250, "measured"))
    assert every.acceptance == (0.75, 0.25) and prose.acceptance == (0.5, 0.0)


def test_fewer_drafts_are_exact_where_the_draft_is_sequential_and_positions_are_measured():
    records = records_of("log", FOUR, {})
    one = speculate(Ask(to=(1,)), Given(row_ms=1.0), records).lanes[0].forecasts[0]
    assert one.exact and one.kept == Figure(1.75, "modelled")
    assert one.step_ms == Figure(7, "modelled") and one.tokens_per_s == Figure(250, "modelled")
    assert one.change == Figure(0, "modelled")
    assert one.break_even_step_ms == Figure(7, "modelled") and one.threshold_step_ms == Figure(8, "modelled")
    for draft in (Draft(drafts="block"), Draft(verify="block")):
        result = speculate(Ask(to=(1,), draft=draft), Given(), records)
        assert not result.lanes[0].forecasts[0].exact and codes(result) == ["approximate"]


def test_the_usual_k_leads_and_groups_show_every_k():
    rows = [*FOUR, (1, 2, 1, "code", 9 * MS)]
    result = speculate(Ask(), Given(), records_of("log", rows, {"no step of that number": 3}))
    assert result.lanes[0].k == 2 and result.lanes[0].steps == 4
    shown = [(g.class_, g.k, g.steps, g.kept.value, g.p50_step_ms and g.p50_step_ms.value) for g in result.groups]
    assert shown == [
        (None, 1, 1, 2, 9), (None, 2, 4, 2, 8), ("code", 1, 1, 2, 9), ("code", 2, 2, 2.5, 10), ("prose", 2, 2, 1.5, 6),
    ]  # fmt: skip
    assert codes(result) == ["facts_left_out"] and result.warnings[0]["count"] == 3
    assert speculate(Ask(), Given(k=1), records_of("log", rows, {})).lanes[0].steps == 1
    with pytest.raises(UsageError, match="drafted 4; its steps drafted 1, 2"):
        speculate(Ask(), Given(k=4), records_of("log", rows, {}))


def test_a_batch_has_a_constant_instead_of_positions():
    result = speculate(Ask(), Given(), records_of("log", [(1, 3, 2, None, 10 * MS)] * 3, {}))
    lane = result.lanes[0]
    assert lane.kept == Figure(1.5, "measured") and lane.tokens_per_s == Figure(150, "measured")
    assert lane.basis == "constant" and lane.alpha == pytest.approx(0.5)
    group = result.groups[0]
    assert group.acceptance is None and group.kept.value == 3 and group.tokens_per_s == Figure(300, "measured")
    assert codes(result) == ["constant_acceptance"]


def test_given_figures_are_quoted_and_the_constant_is_warned_of():
    result = speculate(Ask(to=(3,), rates=(703,)), POSTS)
    lane = result.lanes[0]
    assert lane.tokens_per_s is not None and lane.tokens_per_s.value == pytest.approx(476, abs=0.1)
    assert {lane.kept.kind, lane.tokens_per_s.kind} == {"quoted"} and codes(result) == ["constant_acceptance"]
    assert lane.forecasts[0].tokens_per_s is not None
    assert lane.forecasts[0].tokens_per_s.value == pytest.approx(355, abs=1)  # measured: 355
    assert result.targets[0].step_ms == pytest.approx(7.496, abs=0.001)
    assert not lane.forecasts[0].exact


def test_a_measured_step_under_quoted_kept_tokens():
    result = speculate(Ask(), Given(kept=2, k=1), None, TRACED)
    lane = result.lanes[0]
    assert lane.step_ms == Figure(10, "measured") and lane.tokens_per_s == Figure(200, "quoted")
    assert result.traced and result.inflation == COST
    assert codes(result) == ["tracing_inflation", "constant_acceptance"]


def test_figures_that_are_given_or_logged_are_of_no_trace():
    given = speculate(Ask(), Given(kept=2, k=1, step_ms=9), None, TRACED)
    logged = speculate(Ask(), Given(), records_of("log", FOUR, {}))
    assert [(one.traced, one.inflation) for one in (given, logged)] == [(False, None)] * 2
    assert codes(given) == ["constant_acceptance"]


def test_more_drafts_are_bounds_and_never_a_point():
    seven = to(7)
    assert (seven.kept.value, seven.kept.low, seven.kept.high) == (None, 5.27, pytest.approx(6.682, abs=0.001))
    assert seven.tokens_per_s is not None and seven.tokens_per_s.value is None
    assert seven.change is not None and seven.change.low is not None and seven.change.high is not None
    assert seven.change.low < 0 < seven.change.high
    # longer steps pay more easily: at the most that k = 7 can keep, any step above 2.5 ms
    tie = seven.threshold_step_ms
    assert tie is not None and (tie.value, tie.low, tie.high) == (None, pytest.approx(2.5, abs=0.001), None)
    assert seven.needs is not None
    assert seven.needs.acceptance_sum == pytest.approx(5.27 * 11.74 / 11.07 - 5.27)


def test_beyond_the_trained_block_nothing_new_may_be_kept():
    given = Given(acceptance=(0.9, 0.8, 0.7), step_ms=10, row_ms=1)
    inside, outside = to(5, given), to(5, given, Draft(block=3))
    assert (inside.beyond_block, outside.beyond_block) == (False, True)
    assert inside.kept.low is not None and inside.kept.low > 3.5
    assert outside.kept.low == pytest.approx(3.4)
    assert codes(speculate(Ask(to=(5,), draft=Draft(block=3)), given)) == ["beyond_block"]
    assert not to(2, given, Draft(block=1)).beyond_block


def test_what_cannot_pay_says_so():
    needs = to(2, Given(acceptance=(0.5,), step_ms=2, row_ms=2)).needs
    assert needs is not None and needs.acceptance_sum == pytest.approx(1.5) and needs.chance is None


def test_table_of_steps():
    assert [line.step_ms for line in speculate(Ask(), POSTS).table] == [11.07, 11, 10, 9, 8, 7, 6]
    asked = speculate(Ask(table_ms=(8, 9)), POSTS).table
    assert [(line.step_ms, round(line.tokens_per_s)) for line in asked] == [(8, 659), (9, 586)]
    assert speculate(Ask(), Given(kept=2, k=1)).table == ()
    small = speculate(Ask(), Given(kept=1, k=0, step_ms=1.3)).table
    assert [line.step_ms for line in small] == [1.3, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given(kept=5), "--k is missing"),
        (Given(kept=7, k=5), "cannot be with --k 5"),
        (Given(acceptance=(0.5, 0.6)), "never rising"),
        (Given(acceptance=(0.5,), k=2), "make them the same"),
        (Given(acceptance=(0.5,), kept=1.6), "give one"),
    ],
)
def test_figures_that_contradict_each_other(given: Given, said: str):
    with pytest.raises(UsageError, match=said):
        speculate(Ask(), given)


def test_no_kept_tokens_at_all():
    with pytest.raises(Refused, match="nothing says how many"):
        speculate(Ask(), Given(k=5))
