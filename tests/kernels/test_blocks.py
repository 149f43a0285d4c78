"""The timing phase: planned within its budget or refused, stages in turn, first samples thrown away."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from stepprof.kernels.bench import file
from stepprof.kernels.bench.blocks import Costs, OverBudget, Plan, Stage, Subject, calibrate, interleave, plan_of


def stage(mode: str, log: list[str], *rows: int) -> Stage:
    """Subjects whose sample i takes 10·i + rows µs."""

    def sample(n: int, i: int) -> float:
        log.append(f"{mode}{n}:{i}")
        return 10.0 * i + n

    subjects = [Subject("x", n, mode, lambda i, n=n: sample(n, i)) for n in rows]
    return Stage(subjects, lambda: log.append(f"+{mode}"), lambda: log.append(f"-{mode}"))


def test_stages_take_turns():
    log: list[str] = []
    stages = [stage("a", log, 1), stage("b", log, 1, 2)]
    times = interleave(stages, Plan(2, 2, 1.0, None))
    first = ["+a", "a1:0", "a1:0", "a1:1", "-a", "+b", "b1:0", "b1:0", "b1:1", "b2:0", "b2:0", "b2:1", "-b"]
    second = ["+b", "b1:2", "b1:2", "b1:3", "b2:2", "b2:2", "b2:3", "-b", "+a", "a1:2", "a1:2", "a1:3", "-a"]
    assert log == first + second
    assert times["x", 2, "b"].tolist() == [[2, 12], [22, 32]]


def test_calibration_opens_and_samples_everything():
    log: list[str] = []
    costs = calibrate([stage("a", log, 1, 2)], samples=2)
    assert log == ["+a", "a1:0", "a1:0", "a1:1", "a2:0", "a2:0", "a2:1", "-a"]
    assert costs.sample_s >= 0 and costs.turn_s >= 0


COSTS = Costs(sample_s=0.01, turn_s=0.1)


def test_a_plan_within_its_budget():
    """4 blocks of 25 and a warm-up sample each: 1.1 · 4 · (0.1 + 26 · 0.01) s."""
    plan = plan_of(COSTS, 100, 4, 2.0)
    assert (plan.blocks, plan.samples) == (4, 25)
    assert plan.expected_s == pytest.approx(1.584)


def test_fewer_samples_than_blocks():
    plan = plan_of(COSTS, 3, 25)
    assert (plan.blocks, plan.samples) == (3, 1)


def test_over_budget_says_so_and_what_would_fit():
    """Turns take 0.44 s; (1 − 0.44) / 0.044 = 12.7: 11 samples and the warm-up one."""
    with pytest.raises(OverBudget, match=r"100 samples of each would take about 1.6 s, the budget is 1 s") as fault:
        plan_of(COSTS, 100, 4, 1.0)
    assert "--budget 2, or --fit for 44 samples of each" in str(fault.value)
    assert plan_of(COSTS, 100, 4, 1.0, fit=True).samples == 11


def test_no_budget_for_a_single_sample():
    with pytest.raises(OverBudget, match=r"give --budget 2\.$"):
        plan_of(COSTS, 100, 4, 0.4, fit=True)


def test_a_result_keeps_percentiles_and_block_medians():
    one = file.result("x", 2, "a", np.array([[1.0, 2, 3], [4, 5, 6]]), experts=2)
    assert {key: one[key]["value"] for key in ("p50_us", "max_us", "mean_us")} == {
        "p50_us": 3.5,
        "max_us": 6.0,
        "mean_us": 3.5,
    }
    assert (one["block_p50_us"], one["calls"], one["experts"]) == ([2.0, 5.0], 6, 2)


def test_a_file_is_written_whole(tmp_path: Path):
    path = tmp_path / "bench.json"
    file.write(path, file.head("x", "stepprof bench x", "a clock", [torch.device("cpu")]))
    kept = json.loads(path.read_text())
    assert (kept["bench"], kept["gpu"]) == ("x", []) and list(tmp_path.iterdir()) == [path]
    with pytest.raises(file.BenchFault, match="cannot be written"):
        file.write(tmp_path / "none" / "bench.json", {})
    with pytest.raises(file.BenchFault, match="cannot be written"):
        file.must_be_writable(tmp_path / "none" / "bench.json")
