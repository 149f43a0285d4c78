"""The sidecar calls of real captures on two H200s, to the nanosecond."""

import numpy as np
import pytest

from stepprof.analyses.sidecar.answer import sidecar
from stepprof.analyses.sidecar.groups import kinds_of_experts
from stepprof.analyses.sidecar.result import Sidecar
from tests.real_runs import attributed, run_of

OVERLAP = [2_863_501, 2_896_559, 2_875_569, 2_853_265, 2_867_347, 2_829_910, 2_899_736, 2_897_305]
AWAY = [1_835_963, 1_871_768, 1_843_834, 1_829_562, 1_836_601, 1_861_081, 1_813_498, 1_861_466]
GRAPH = [1_842_044, 1_869_482, 1_836_920, 1_817_670, 1_864_308, 1_875_298, 1_835_057, 1_867_166]


def answer_of(name: str, edges: bool = False) -> Sidecar:
    return sidecar(run_of(name, edges), attributed(name, edges))


@pytest.fixture(scope="module")
def overlap() -> Sidecar:
    return answer_of("h200x2_overlap.sqlite", edges=True)


def test_calls_of_the_overlap_capture(overlap):
    assert [step.calls for step in overlap.by_step] == [18] * 8
    assert {group.rows: group.calls / 8 for group in overlap.per_rows} == {1: 4, 2: 6, 4: 4, 6: 4}
    assert (overlap.source, overlap.rows_from, overlap.empty_calls, overlap.skipped_share) == (
        "marks",
        "marks",
        0,
        None,
    )
    assert {call.experts for call in overlap.table} == {2, 4, 8, 12}


def test_join_waits_of_the_overlap_capture(overlap):
    assert [step.join_wait_ns for step in overlap.by_step] == OVERLAP
    first = [call.join_wait_ns for call in overlap.table if call.step == 0 and call.layer in (1, 2, 3, 4)]
    assert first == [40_262, 103_046, 214_661, 319_365]
    assert overlap.waits_said == []


def test_join_waits_of_the_overlap_capture_without_edges():
    found = answer_of("h200x2_overlap.sqlite")
    assert np.array([step.join_wait_ns for step in found.by_step]) == pytest.approx(OVERLAP, rel=0.03)


def test_most_of_a_call_is_copying_weights(overlap):
    """The posts' guess, seen: gathers make up most of a call, and copying is the largest kind of the expert phases."""
    kinds = kinds_of_experts(overlap.phases)
    assert next(iter(kinds)) == "copy"
    assert kinds["copy"] / sum(kinds.values()) == pytest.approx(0.828, abs=0.001)
    assert overlap.all.kinds_mean_us["copy"] / overlap.all.mean_us == pytest.approx(0.694, abs=0.001)


@pytest.mark.parametrize("name", ["h200x2_overlap.sqlite", "h200x2_graph.sqlite", "mini_h200x2.sqlite"])
def test_phases_and_kinds_add_up_to_the_mean_call(name):
    found = answer_of(name)
    for group in (*found.per_rows, found.all):
        assert sum(group.phases_mean_us.values()) == pytest.approx(group.mean_us, rel=1e-12)
        assert sum(group.kinds_mean_us.values()) == pytest.approx(group.mean_us, rel=1e-12)
    assert sum(phase.mean_us for phase in found.phases) == pytest.approx(found.all.mean_us, rel=1e-12)


def test_cost_of_a_call_in_the_overlap_capture(overlap):
    fit = overlap.fits.medians
    assert (fit.fixed_us, fit.per_row_us) == (pytest.approx(63.13, abs=0.01), pytest.approx(54.68, abs=0.01))
    assert "every row brings 2 experts" in overlap.fits.said


def test_the_graph_capture_waits_where_no_range_says_so():
    found = answer_of("h200x2_graph.sqlite")
    assert [step.calls for step in found.by_step] == [12] * 8
    assert [step.away_ns for step in found.by_step] == AWAY
    assert [step.join_wait_ns for step in found.by_step] == GRAPH
    assert found.waits_said == [
        "The main card really waits at the first op of `experts` (96 of 96 joins); at the range `sidecar.wait`, which "
        "claims to wait or add, it waits 0.000 ms a step."
    ]
    kinds = kinds_of_experts(found.phases)
    assert next(iter(kinds)) == "copy" and kinds["copy"] / sum(kinds.values()) == pytest.approx(0.691, abs=0.001)
    assert found.per_rows[0].rows is None
    assert found.clock_offset_bound_ns == 2_713


def test_the_built_in_model_has_a_call_a_layer():
    found = answer_of("mini_h200x2.sqlite")
    assert {step.calls for step in found.by_step} == {10}
    assert [row.layer for row in found.by_layer] == list(range(10))
    assert set(found.per_rows[0].phases_mean_us) >= {"copy_in", "up_gate", "down", "reduce", "copy_out", "wake_up"}


@pytest.mark.parametrize(
    ("name", "calls", "steps"),
    [("h200x2_kineto_overlap.pt.trace.json.gz", 18, 6), ("h200x2_kineto_twocard.pt.trace.json.gz", 12, 6)],
)
def test_calls_without_marks(name, calls, steps):
    """torch.profiler records no NVTX: the same programs, told apart by their traffic alone."""
    found = answer_of(name)
    assert (found.source, [step.calls for step in found.by_step]) == ("traffic", [calls] * steps)
