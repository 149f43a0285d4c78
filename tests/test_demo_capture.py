"""The capture that comes with stepprof: two H200s, one graph of 1,378 ops a step, 8 steps.

All figures were counted independently of this code from the same capture.
"""

import numpy as np
import pytest

from stepprof.analyses.attribution import attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import BYS
from stepprof.analyses.dependencies import RECORDED
from stepprof.analyses.gaps import CODE
from stepprof.analyses.ops import UNKNOWN
from tests.real_runs import attributed, run_of

NAME = "h200x2_overlap.sqlite"


@pytest.fixture(scope="module")
def found():
    return attributed(NAME, edges=True)


def test_eight_steps_by_the_own_marker_grammar(found):
    assert found.steps.label == [f"step/{i}" for i in range(8)]
    assert found.steps.method == "marker stepprof"
    assert found.steps.windows.ops.tolist() == [1378] * 8
    assert found.steps.windows.host.all()


def test_gpu_span_of_step_0(found):
    w = found.steps.windows
    assert w.gpu_end[0] - w.gpu_start[0] == 8_587_330


def test_every_graph_op_is_labelled(found):
    in_graph = found.ops.in_graph
    assert in_graph.sum() == 11 * 1378
    assert (found.labels.of_op[in_graph] != UNKNOWN).all()


def test_span_of_step_0_splits_into_both_cards_and_gaps(found):
    mine = found.path.segment_step == 0
    length = (found.path.segment_end - found.path.segment_start)[mine]
    device = found.ops.device[found.path.segment_op[mine]]
    assert int(length[device == 0].sum()) == 3_874_625
    assert int(length[device == 1].sum()) == 3_394_525
    gaps, w = found.gaps, found.steps.windows
    inside = (gaps.step == 0) & (gaps.start >= w.gpu_start[0]) & (gaps.end <= w.gpu_end[0])
    assert int((gaps.end - gaps.start)[inside].sum()) == 1_318_180
    assert 3_874_625 + 3_394_525 + 1_318_180 == 8_587_330


def test_path_links_are_recorded(found):
    assert breakdown(found).path["recorded"] >= 0.99
    assert found.deps.contradicted == 0


def test_walk_without_edges_agrees_with_the_recorded_edges(found):
    """The share of path time that both walks give to the same op; an independent sketch got 0.991 to 0.995."""
    blind = attribute(run_of(NAME, edges=True), use_edges=False)
    assert not (blind.deps.source == RECORDED).any()
    same = np.minimum(found.exposed(), blind.exposed()).sum() / found.exposed().sum()
    print(f"agreement of the inferred with the recorded walk: {same:.4f}")
    assert same >= 0.98


def test_sidecar_joins_wait_for_the_other_card(found):
    """18 calls a step, each with a copy in (card 0 to 1) and a join (card 1 to 0)."""
    waits = found.gaps.code == CODE["sidecar_wait"]
    assert np.bincount(found.gaps.step[waits]).tolist() == [36] * 8


@pytest.mark.parametrize("by", BYS)
def test_rows_and_gaps_sum_to_wall_by(found, by):
    result = breakdown(found, by)
    total = sum(r.exposed_total_ns for r in result.rows) + sum(g.exposed_total_ns for g in result.gaps)
    assert total == result.totals["wall_ns"] == int(found.steps.wall.sum())
    assert sum(r.ops for r in result.rows) == 1378


def test_nothing_is_unknown(found):
    result = breakdown(found)
    assert result.unknown_share == 0
    assert result.labelled_share == 1


def test_both_cards_are_busy_at_once(found):
    """Card 0 alone about 4.25 ms, card 1 alone 2.72 to 2.74, both 0.65 to 0.67: unions, not sums."""
    cards = {d.device: d for d in breakdown(found).devices}
    assert cards[1].busy_ns == cards[1].work_ns  # one sidecar stream
    assert 4.9e6 < cards[0].busy_ns < cards[0].work_ns < 5.1e6
