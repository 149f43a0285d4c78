"""Ops that run while steps pass and belong to none are counted, card by card."""

from typing import Any

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.graph.critical_path import build_graph
from tests.analyses.accounts import account
from tests.trace_builder import TraceBuilder

SPIN = "void spin_wait_kernel(unsigned int volatile*)"


def steps() -> TraceBuilder:
    """Steps 0-100 and 100-200 of one op each."""
    trace = TraceBuilder()
    for step, at in enumerate((0, 100)):
        trace.range(f"step/{step}", at, at + 100).kernel("gemm", at + 20, at + 50, call=(at + 5, at + 6))
    return trace


def told(trace: TraceBuilder, chosen: list[int] | None = None) -> list[dict[str, Any]]:
    return [w for w in breakdown(account(trace), chosen=chosen).warnings if w["code"] == "outside_steps"]


def test_without_such_ops_nothing_is_told():
    assert told(steps()) == []


def test_another_process_is_counted_by_card():
    """Card 1: 1,000 and 3,000 ns in step 0, overlapping by 500, and 500 that reach over its end; card 0: one op."""
    trace = TraceBuilder().range("step/0", 0, 10_000).kernel("gemm", 2000, 5000, call=(5, 6))
    for start, end in ((2000, 3000), (2500, 5500), (9500, 10_500)):
        trace.kernel("theirs", start, end, call=(1, 2), process=1, device=1)
    trace.kernel("ours", 6000, 8000, call=(1, 2), process=1, stream=9)
    found = told(trace)
    assert [w["count"] for w in found] == [1, 3]
    assert found[0]["text"].startswith("1 ops on card 0 ran during these steps (0.002 ms of each) and belong to none")
    assert "3 ops on card 1 ran during these steps (0.004 ms of each)" in found[1]["text"]


def test_whatif_tells_what_it_cannot_change():
    trace = steps().kernel("theirs", 120, 150, call=(1, 2), process=1, device=1)
    store = trace.store()
    graph = build_graph(attribute(store), store)
    assert [(w["code"], w["count"]) for w in graph.warnings] == [("outside_steps", 1)]


def test_only_the_chosen_steps_count_and_spins_do_not():
    trace = steps().kernel("theirs", 120, 150, call=(1, 2), process=1, device=1)
    trace.kernel(SPIN, 10, 90, call=(1, 2), process=1, device=1).kernel("late", 300, 310, call=(1, 2), process=1)
    assert [w["count"] for w in told(trace)] == [1]
    assert told(trace, [0]) == []
