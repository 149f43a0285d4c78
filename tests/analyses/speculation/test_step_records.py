"""Facts of a server joined to the steps of a trace: what is used, what is left out and counted."""

from collections.abc import Sequence

import pytest

from stepprof.analyses.attribution import Question
from stepprof.analyses.inflation import TracedTimes, TracingInflation
from stepprof.analyses.speculation.step_records import Records, traced_records, traced_step
from stepprof.profiler.errors import Refused
from tests.trace_builder import TraceBuilder

MS = 1_000_000


def trace(numbers: Sequence[int] = range(6), length: int = 10) -> TraceBuilder:
    """A step of `length` ms for each number, back to back."""
    made = TraceBuilder()
    for i, n in enumerate(numbers):
        at = i * length * MS
        made.range(f"step/{n}", at, at + length * MS - 1).kernel("a", at + 3, at + 5, call=(at + 1, at + 2))
    return made


def records(made: TraceBuilder) -> Records:
    return traced_records(made.store(), Question())


def test_a_fact_goes_to_the_step_of_its_number():
    made = trace()
    for n, kept in [(0, 6), (2, 1), (1, 3)]:
        made.step_fact(n, drafted=5, kept=kept, batch=1, class_="code")
    found = records(made)
    assert found.kept.tolist() == [6, 3, 1] and found.drafted.tolist() == [5, 5, 5]
    assert found.period_ns is not None and found.period_ns.tolist() == [10 * MS] * 3
    assert (found.classes, found.class_.tolist(), found.left_out) == (["code"], [0, 0, 0], {})


def test_a_batch_is_drafts_of_one_sequence_and_kept_of_all():
    found = records(trace().step_fact(0, drafted=10, kept=7, batch=2))
    assert (found.drafted.tolist(), found.kept.tolist(), found.batch.tolist()) == ([5], [7], [2])


def test_what_cannot_be_used_is_counted():
    made = trace()
    made.step_fact(0, drafted=5, kept=3)
    made.step_fact(1, drafted=5, kept=3).step_fact(1, drafted=5, kept=4)
    made.step_fact(2, drafted=None, kept=3)
    made.step_fact(3, drafted=2, kept=4)
    made.step_fact(5, drafted=5, kept=3)  # the last one has no period
    made.step_fact(77, drafted=5, kept=3)
    found = records(made)
    assert found.kept.tolist() == [3]
    assert sorted(found.left_out.values()) == [1, 1, 1, 1, 2]
    assert found.left_out["several facts for one step"] == 2 and found.left_out["no step of that number"] == 1


def test_a_period_over_a_missing_step_is_not_used():
    made = trace([0, 1, 2, 7, 8])
    for n in (0, 1, 2, 7):
        made.step_fact(n, drafted=1, kept=2)
    found = records(made)
    assert len(found) == 3 and sum(found.left_out.values()) == 1


def test_imposed_acceptance_is_simulated():
    made = trace().step_fact(0, drafted=1, kept=2)
    assert records(made).kept_kind == "measured"
    made.add("manifest", key="command", value='["stepprof", "run", "--simulate-acceptance", "0.9"]')
    assert records(made).kept_kind == "simulated"


def test_no_facts_is_refused_with_the_way_out():
    with pytest.raises(Refused, match="import it with --facts"):
        records(trace())
    with pytest.raises(Refused, match=r"none of its 1 facts fits a step \(1 × no step of that number\)"):
        records(trace().step_fact(50, drafted=1, kept=1))


def test_the_step_time_needs_no_facts():
    step = traced_step(trace().store(), Question())
    assert (step.ms.value, step.ms.kind) == (10, "measured")
    with pytest.raises(Refused, match="no two steps"):
        traced_step(trace([4]).store(), Question())


def test_what_tracing_did_comes_along_with_facts_and_without():
    assert traced_step(trace().store(), Question()).traced == TracedTimes(None, ())
    made = trace().step_fact(0, drafted=1, kept=2).add("manifest", key="tracing_inflation", value="1.5")
    for traced in (records(made).traced, traced_step(made.store(), Question()).traced):
        assert traced is not None and traced.inflation == TracingInflation(1.5, None)
        assert [warning["code"] for warning in traced.warnings] == ["tracing_inflation"]
