"""Expert uses from facts: which experts each call used, by class; facts that only count are refused."""

import pytest

from stepprof.analyses.placement.choice import Terms, place
from stepprof.analyses.placement.expert_use import expert_use
from stepprof.analyses.placement.layer_waits import Waits
from stepprof.analyses.placement.use_facts import uses_of_facts
from stepprof.analyses.placement.use_table import joined
from stepprof.profiler.errors import InputError, Refused
from stepprof.profiler.store import Store
from tests.trace_builder import TraceBuilder


def run(*calls: tuple[int, int, list[int]], steps: int = 0, class_: str | None = None) -> Store:
    """A run with calls (step, layer, experts) and facts of so many steps."""
    trace = TraceBuilder()
    for step in range(steps):
        trace.step_fact(step, class_=class_)
    for step, layer, experts in calls:
        trace.call_fact(step, layer, experts=len(experts), expert_numbers=experts)
    return trace.store()


def test_calls_of_facts_are_one_class_named_by_the_file():
    """Of 4 steps two use 300 and 301 in layer 3: 31 µs in half of them is 15.5 µs a step, none with both moved."""
    table = uses_of_facts(run((0, 3, [300, 301]), (2, 3, [301, 300]), steps=4), "code.jsonl", "code")
    given = expert_use(table, Waits({3: 31.0}))
    assert (given.classes, given.steps, given.sets_known) == (("code",), (4,), True)
    (layer,) = given.layers
    assert (layer.experts.tolist(), layer.sets.tolist(), layer.weight.tolist()) == ([300, 301], [[True, True]], [0.5])
    found = place(given, Terms(2))
    assert [(point.experts, point.wait_us) for point in found.curve] == [(0, 15.5), (2, 0.0)]


def test_steps_without_facts_of_their_own_count_too():
    assert expert_use(uses_of_facts(run((0, 1, [5]), (1, 1, [])), "a", "a"), Waits({}, 8.0)).steps == (2,)


def test_calls_that_were_not_made_use_no_expert():
    store = TraceBuilder().call_fact(0, 1, experts=0).call_fact(1, 1, rows=0).call_fact(2, 1, skipped=True)
    store = store.call_fact(3, 1, experts=1, expert_numbers=[9]).store()
    assert uses_of_facts(store, "a", "a").rows["expert"].dropna().tolist() == [9]


def test_the_facts_name_classes_unless_the_user_does():
    store = run((0, 1, [5]), (2, 1, [6]), steps=2, class_="prose")
    assert uses_of_facts(store, "a", "stem").rows["class"].tolist() == ["prose", "prose", "stem"]
    assert set(uses_of_facts(store, "a", "stem", "mine").rows["class"]) == {"mine"}


def test_steps_of_two_files_are_never_one_step():
    """Step 0 of both: two steps of one class, three where the classes differ by name."""
    first, second = run((0, 1, [5])), run((0, 1, [6]), (7, 1, [5]))
    both = joined([uses_of_facts(first, "a", "a", "x"), uses_of_facts(second, "b", "b", "x")])
    assert expert_use(both, Waits({}, 1.0)).steps == (3,)
    apart = joined([uses_of_facts(first, "a", "a"), uses_of_facts(second, "b", "b")])
    assert (both.source, expert_use(apart, Waits({}, 1.0)).steps) == ("a + b", (1, 2))


def test_facts_that_count_experts_cannot_name_them():
    store = TraceBuilder().call_fact(0, 1, rows=2, experts=3).call_fact(1, 1, rows=0, experts=0).store()
    with pytest.raises(Refused, match=r"f.jsonl: 1 of 2 calls do not tell which experts.*\"expert_numbers\": \[5, 7\]"):
        uses_of_facts(store, "f.jsonl", "f")


def test_a_run_from_before_facts_could_name_experts():
    store = TraceBuilder().call_fact(0, 1, rows=2, experts=3).store()
    store.con.execute("ALTER TABLE call_fact DROP COLUMN expert_numbers")
    with pytest.raises(Refused, match="1 of 1 calls do not tell which experts"):
        uses_of_facts(store, "old.duckdb", "old")


def test_a_run_without_facts():
    with pytest.raises(Refused, match="holds no facts of sidecar calls: give a facts file, or a run imported"):
        uses_of_facts(TraceBuilder().step_fact(0).store(), "run.duckdb", "run")


def test_counts_do_not_go_beside_calls():
    counts = TraceBuilder().store().frame("SELECT 'a' AS class, 0 AS layer, 1 AS expert, 1 AS uses, 1 AS calls")
    called = uses_of_facts(run((0, 1, [5])), "a", "a")
    with pytest.raises(InputError, match="has counts only: give it alone"):
        joined([called, type(called)("counts.csv", counts)])
