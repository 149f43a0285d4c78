"""What a run tells beside its graph: kept tokens, periods, traffic, boundaries, cards."""

from dataclasses import replace

import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.whatif.answer import Settings
from stepprof.analyses.whatif.assumptions import Traffic
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.profiler.errors import UsageError
from tests.trace_builder import TraceBuilder

MS = 1_000_000
NOTHING = Figures()


def trace() -> TraceBuilder:
    """Four steps of 10 ms: a graph, and 2 us behind it another that was launched in time."""
    made = TraceBuilder()
    for n in range(4):
        at = n * 10 * MS
        made.range(f"step/{n}", at, at + 9 * MS)
        made.graph_launch((at + 1, at + 2)).kernel("a", at + 10_000, at + MS, node=1)
        made.graph_launch((at + 3, at + 4)).kernel("b", at + MS + 2_000, at + 2 * MS, node=2)
    return made


def settings(made: TraceBuilder, figures: Figures = NOTHING) -> Settings:
    store = made.store()
    found = attribute(store)
    return settings_of(store, found, build_graph(found, store), figures)


def test_a_run_without_facts():
    found = settings(trace())
    assert (found.kept, found.lane, found.period_ms) == (None, None, 10.0)
    assert (found.assume.boundary_ns, found.assume.costs, found.assume.k) == (2_000, {}, None)
    assert found.assume.node_cost.figure == "quoted"


def test_facts_and_what_a_user_says_instead():
    made = trace()
    for n in range(4):
        made.step_fact(n, drafted=5, kept=3 + n, batch=1)
    found = settings(made)
    # the last step has no period: 3, 4 and 5 tokens
    assert (found.kept, found.period_ms, found.assume.k) == (Figure(4.0, "measured"), 10.0, 5)
    given = settings(made, Figures(kept=5.27))
    assert given.kept == Figure(5.27, "quoted") and given.lane is not None and given.lane.k == 5
    with pytest.raises(UsageError, match=r"--kept 5.27 cannot be with"):
        settings(made, Figures(kept=5.27, k=2))


def test_given_figures_alone():
    found = settings(trace(), Figures(kept=5.27, table_ms=(9.0,), rates=(703.0,)))
    assert (found.kept, found.lane, found.table_ms, found.rates) == (Figure(5.27, "quoted"), None, (9.0,), (703.0,))
    with_k = settings(trace(), Figures(kept=5.27, k=5))
    assert with_k.lane is not None and with_k.lane.basis == "constant" and with_k.assume.k == 5


def test_costs_are_traffic():
    made = trace()
    made.add("op_cost", label="a", bytes_read=100, bytes_written=None, flops=None, source="counted")
    made.add("op_cost", label="b", bytes_read=None, bytes_written=None, flops=7, source="counted")
    found = settings(made)
    assert found.assume.costs == {"a": Traffic(100, 0)}
    assert replace(found.assume, costs={}).costs == {}
