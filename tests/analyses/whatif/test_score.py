"""A what-if answer as a scored prediction: signs, medians, noise floor."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.graph.node_cost import Interval, NodeCost
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.proposal_model import Given, Proposal, Remove, Scale, Select
from stepprof.analyses.whatif.result import WhatIf
from stepprof.analyses.whatif.score import measured, prediction
from stepprof.analyses.whatif.scores import append, fill
from stepprof.profiler.errors import UsageError
from tests.step_graphs import hand

COST = NodeCost(Interval(800, 600, 1000), Interval(400, 400, 400), Interval(400, 200, 600), "quoted", "by hand")
PROPOSALS = [
    Proposal("without b", (Remove(Select(name="^b$")),), predicted_ms=-3.5),
    Proposal("without the hidden one", (Remove(Select(name="^h$")),)),
    Proposal("b later", (Scale(Select(name="^b$"), factor=Given(2, 2, 2)),)),
]


def answer() -> WhatIf:
    """a 1 ms, then b 2 ms beside h 1 ms, then d 1 ms: 4 ms."""
    graph = hand(
        {name: [ms * 1_000_000] * 4 for name, ms in {"a": 1, "b": 2, "h": 1, "d": 1}.items()},
        [("a", "b", 0), ("a", "h", 0), ("b", "d", 0), ("h", "d", 0)],
    )
    graph = dataclasses.replace(graph, gpu="NVIDIA H200", source="hand")
    return evaluate(graph, PROPOSALS, Settings(Assumptions(COST)))


def predicted(name: str) -> Any:
    return prediction(answer(), name, "hand 00", 3.9, "2026-11-30", "stepprof whatif")


def test_a_prediction_is_of_the_untraced_step_and_savings_are_positive():
    entry = predicted("without b")
    assert (entry.predicted_saving_ms, entry.predicted_step_ms) == (1.0, 2.9)  # h holds d back now
    assert entry.interval_ms[0] <= 1.0 <= entry.interval_ms[1]
    assert (entry.null_sum_of_work_ms, entry.human_estimate_ms) == (2.0, 3.5)
    assert (entry.measured_step_ms, entry.measured_saving_ms, entry.noise_floor_ms) == (None, None, None)
    assert (entry.gpu, entry.trace, entry.date) == ("NVIDIA H200", "hand 00", "2026-11-30")


def test_hidden_work_predicts_nothing_and_more_work_a_longer_step():
    hidden, longer = predicted("without the hidden one"), predicted("b later")
    assert (hidden.predicted_saving_ms, hidden.null_sum_of_work_ms) == (0.0, 1.0)
    assert (longer.predicted_saving_ms, longer.predicted_step_ms) == (-2.0, 5.9)
    assert str(hidden.predicted_saving_ms) == "0.0"


def test_a_name_that_is_not_there_is_told_with_the_near_one():
    with pytest.raises(UsageError, match='"without c": did you mean without b'):
        predicted("without c")


def test_the_measured_saving_is_between_medians_and_the_floor_from_the_controls():
    entry = measured(predicted("without b"), [3.9, 4.0, 3.8], [3.0, 2.9, 3.4])
    assert (entry.measured_step_ms, entry.measured_saving_ms) == (3.0, 0.9)
    # 2 · 0.1 · √(1/3 + 1/3); halves of three controls differ by 0.15 at most
    assert entry.noise_floor_ms == pytest.approx(0.163299, abs=1e-6)


def test_one_control_gives_no_noise_floor():
    assert measured(predicted("without b"), [3.9], [3.0, 2.9]).noise_floor_ms is None


def test_a_prediction_made_again_fills_the_one_on_record(tmp_path: Path):
    path = tmp_path / "scores.json"
    append(path, predicted("without b"))
    done = fill(path, measured(predicted("without b"), [3.9, 4.0], [3.0]))
    assert (done.measured_saving_ms, done.predicted_step_ms) == (0.95, 2.9)
