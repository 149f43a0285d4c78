"""Intervals: bounds of figures replayed, spread over steps, and the replay's own error as the least width."""

from dataclasses import replace

import numpy as np
import pytest

from stepprof.analyses.graph.replay import HeldOutError
from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.statistics import t_quantile
from stepprof.analyses.whatif.interval import doubt_of, interval, joined
from stepprof.analyses.whatif.proposal_model import Draft, Fuse, Given, Proposal, Scale, Select, Split
from stepprof.analyses.whatif.result import Doubt
from tests.proposals import ASSUME, exactly, named
from tests.step_graphs import hand

EXACT = HeldOutError(4, 0, 0, 0, 0, 0)
NONE = Doubt((0, 0), (0, 0), (0, 0), 0, 0)
CHAIN = hand({"a": [100] * 4, "b": [200] * 4, "c": [300] * 4}, [("a", "b", 2), ("b", "c", 2)])
SAME = np.zeros(4, np.int64)


def doubt(*edits: object, **assumed: object) -> Doubt:
    proposal = Proposal("change", edits)  # type: ignore[arg-type]
    return doubt_of(CHAIN, proposal, replace(ASSUME, **assumed), SAME, EXACT, 10.0)


def test_each_source_alone():
    # two boundaries of 4 to 8 around 5: saves 2 less or 6 more
    assert doubt(Fuse(Select(name="."))).node_cost == pytest.approx((6e-6, 2e-6))
    assert doubt(Split(named("b"), 2)).node_cost == pytest.approx((1e-6, 3e-6))
    # 100 bytes at 10 (5 to 20) bytes a ns: 10, 5 at best and 20 at worst
    floor = Scale(named("b"), floor=True, traffic_bytes=exactly(100), bandwidth_gb_s=Given(10, 5, 20))
    assert doubt(floor) == replace(NONE, bandwidth=pytest.approx((5e-6, 10e-6)), given=doubt(floor).given)
    assert doubt(Scale(named("b"), factor=Given(0.5, 0.25, 1.0))).given == pytest.approx((50e-6, 100e-6))
    assert doubt(Scale(named("b"), factor=exactly(0.5))) == NONE
    row = Given(1.0, 0.5, 2.0)
    assert doubt(Draft(3), k=4, row_ms=row).given == pytest.approx((1.0, 0.5))


def test_the_spread_over_steps():
    change = np.array([-3, -1, -1, -3]) * 1_000_000
    found = doubt_of(CHAIN, Proposal("x", (Scale(named("a"), factor=exactly(1)),)), ASSUME, change, EXACT, 10.0)
    assert found.steps == pytest.approx(t_quantile(0.975, 3) * (4 / 3) ** 0.5 / 2)
    one = doubt_of(CHAIN, Proposal("x", ()), ASSUME, change[:1], EXACT, 10.0)
    assert one.steps == 0


def test_sources_add_up_in_quadrature_and_the_replay_is_the_least():
    made = Doubt((0.3, 0.1), (0, 0), (0.4, 0), 0.0, 0.2)
    assert interval(-1, made) == Figure(-1, "modelled", -1.5, -0.8)
    error = HeldOutError(4, 0, 0, 0.02, 0.05, 0)
    assert doubt_of(CHAIN, Proposal("x", ()), ASSUME, SAME, error, 10.0).replay == pytest.approx(0.2)


def test_one_node_cost_stands_behind_all_proposals():
    two = joined([Doubt((0.3, 0.1), (0.1, 0), (0.3, 0), 9, 0.2), Doubt((0.3, 0.1), (0.1, 0), (0.4, 0), 9, 0.2)], SAME)
    assert (two.node_cost, two.bandwidth, two.given) == ((0.6, 0.2), (0.2, 0), (0.5, 0))
    assert (two.steps, two.replay) == (0, 0.2)
