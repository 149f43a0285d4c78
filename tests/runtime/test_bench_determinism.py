"""The same calls twice: distances in ulp, and that a sum whose order changes is caught where it matters only."""

from collections import defaultdict
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
import torch

from stepprof.kernels import expert_gemm
from stepprof.kernels.bench.blocks import OverBudget
from stepprof.runtime.bench import determinism
from stepprof.runtime.bench.determinism import Counts, Inputs, Twice, add, bench_determinism, ulps
from stepprof.runtime.config import TINY, Config
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.weights import RandomWeights


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_ulps(dtype: torch.dtype):
    one, eps = torch.tensor([1.0], dtype=dtype), torch.finfo(dtype).eps
    assert ulps(one, one * (1 + 3 * eps)).item() == 3
    assert ulps(-one, -one * (1 + eps)).item() == 1
    assert ulps(one * 0, -one * 0).item() == 0
    tiny = torch.finfo(dtype).tiny * eps  # the smallest number above zero
    assert ulps(one * 0 + tiny, one * 0 - tiny).item() == 2


def test_rows_that_a_call_has_not_are_left_out():
    inputs = Inputs(torch.tensor([1, 2, 2]), torch.tensor([1, 2, 2]), *(torch.zeros(3, 2, 1),) * 3)
    first = torch.ones(3, 2, 4)
    second = first.clone()
    second[0, 1] = 7.0  # beyond the call's one row
    second[1, 1, 2] += 2 * torch.finfo(torch.float32).eps
    counts: Counts = defaultdict(lambda: [0, 0, 0])
    add(counts, inputs, first, second)
    assert counts == {(1, 1): [1, 0, 0], (2, 2): [2, 1, 2]}


def run(config: Config = TINY, rows: tuple[int, ...] = (1, 3)) -> dict[str, Any]:
    twice = Twice(rows, calls=40)
    return bench_determinism(config, Options(), RandomWeights(0), Placement.first(config), twice)


def test_the_references_come_out_the_same_twice():
    results = run()["results"]
    assert sum(one["calls"] for one in results) == 80 and not any(one["differ"] for one in results)
    assert {(one["reduce"], one["rows"]) for one in results} == {
        (reduce, rows) for reduce in ("atomic", "ordered") for rows in (1, 3)
    }
    assert {one["experts"] for one in results} == {1, 2}  # tiny has two cold experts


def test_a_sum_in_another_order_each_time_is_caught(monkeypatch: pytest.MonkeyPatch):
    """An atomic sum that takes its parts from the back every other time; two numbers have no order."""
    order = cycle([[0, 1, 2], [2, 1, 0]])
    monkeypatch.setattr(determinism, "CALIBRATION", 1)

    def down_atomic(h: Any, slots: Any, weights: Any, w_out: Any, *, count: Any = None) -> torch.Tensor:
        parts = expert_gemm.down(h, slots, weights, w_out, count=count)  # [T, A, D]
        return sum((parts[:, a] for a in next(order)), torch.zeros_like(parts[:, 0]))

    monkeypatch.setattr(expert_gemm, "down_atomic", down_atomic)
    monkeypatch.setattr(determinism, "CHUNK", 39)  # an odd number, so that each call meets both orders
    results = run(replace(TINY, hot_experts=5), rows=(1,))["results"]
    differ = {(one["reduce"], one["experts"]): one["differ"] for one in results}
    assert differ.pop(("atomic", 3)) > 5 and set(differ.values()) == {0} and len(differ) == 5


def budgeted(calls: int, budget_s: float) -> dict[str, Any]:
    twice = Twice((1, 2), calls=calls, budget_s=budget_s)
    return bench_determinism(TINY, Options(), RandomWeights(0), Placement.first(TINY), twice)


@pytest.mark.parametrize(
    ("calls", "budget_s", "words"),
    [  # 0.01 s a call of both sums; a tenth is left for what calibration does not see
        (100, 0.5, "100 calls twice would take about 1.0 s, the budget is 0.5 s; nothing was compared: "
                   "give --budget 2, or --calls 45."),
        (1, 0.005, "1 calls twice would take about 0.0 s, the budget is 0.005 s; nothing was compared: "
                   "give --budget 1."),
    ],
)  # fmt: skip
def test_a_run_over_its_budget_says_so_first(
    calls: int, budget_s: float, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(determinism, "_seconds_twice", lambda *_: 0.01)
    with pytest.raises(OverBudget) as fault:
        budgeted(calls, budget_s)
    assert str(fault.value) == words and "atomic" not in capsys.readouterr().err


def test_a_half_that_is_done_is_not_thrown_away(monkeypatch: pytest.MonkeyPatch):
    """The second half would not fit any more by a calibration of its own."""
    costs = iter([0.001, 1e9])
    monkeypatch.setattr(determinism, "_seconds_twice", lambda *_: next(costs))
    assert sum(one["calls"] for one in budgeted(20, 1.0)["results"]) == 40
    assert next(costs) == 1e9


def test_a_calibration_is_a_cost():
    with pytest.raises(OverBudget, match=r"1,000,000,000 calls twice .* give --budget \d+, or --calls [1-9]"):
        budgeted(10**9, 0.5)


def test_the_cpu_is_told(capsys: pytest.CaptureFixture[str]):
    text = "this is the CPU: its answers say nothing about a GPU."
    document = run()
    assert (document["gpu"], document["warnings"]) == ([], [{"code": "cpu", "count": 1, "text": text}])
    assert capsys.readouterr().err.splitlines()[0] == f"warning: {text}"


def test_without_a_sidecar():
    config = replace(TINY, hot_experts=8)
    with pytest.raises(ConfigError, match="needs a sidecar"):
        options = Options(sidecar_mode="off")
        bench_determinism(config, options, RandomWeights(0), Placement.first(config), Twice((1,), calls=1))


def test_no_rows_is_wrong_usage():
    with pytest.raises(ConfigError, match="--rows of 1 or more"):
        run(rows=(0, 1))
