"""Steps without marks in real captures, against their marks."""

from __future__ import annotations

import numpy as np
import pytest

from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import load_ops
from stepprof.analyses.periods import by_launches, by_period
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import Method, find_steps, make_steps
from tests.host_thread import counts, numbered
from tests.real_runs import run_of


@pytest.mark.parametrize(
    ("name", "method", "steps", "ops", "before"),
    [
        ("h200x2_overlap", "launches", 11, 1378, 0),
        ("h200x2_graph", "launches", 11, 1294, 0),
        ("h200x2_graph", "period", 11, 1294, 4272),
        ("h200x2_eager", "period", 11, 1294, 388),
        ("h200_hf_deepseek_compile", "launches", 9, 315, 0),
        ("h200_hf_deepseek_compile", "period", 8, 315, 1757),
        ("h200_hf_deepseek_eager", "period", 10, 984, 1124),
    ],
)
def test_real_steps(name: str, method: Method, steps: int, ops: int, before: int):
    store = run_of(f"{name}.sqlite")
    grouping, said = (by_launches if method == "launches" else by_period)(store, found := load_ops(store))
    assert grouping is not None, said
    listed = counts((make_steps(found, grouping), said))
    if name == "h200_hf_deepseek_compile" and method == "launches":
        ops_of_last = listed.pop()[1]  # no next step lends it its first two ops
        assert ops_of_last == ops - 2
        steps -= 1
    assert listed == [*([("before?", before)] if before else []), *numbered(method, steps, ops)]


@pytest.mark.parametrize(("name", "method"), [("h200x2_eager", "period"), ("h200_hf_deepseek_eager", "period")])
def test_steps_by_period_are_the_marked_ones(name: str, method: Method):
    store, rules = run_of(f"{name}.sqlite"), load_rules()
    ops, ranges = load_ops(store), load_ranges(store, rules)
    marked, _ = find_steps(store, ops, ranges, rules)
    period, _ = find_steps(store, ops, ranges, rules, method=method)
    assert marked is not None and period is not None
    for i in range(len(marked)):
        (step,) = set(period.of_op[marked.of_op == i].tolist())
        assert np.array_equal(period.of_op == step, marked.of_op == i)


@pytest.mark.parametrize(
    "name",
    ["nsysai_h100_2gpu_1s", "nsysai_mfu_2gpu_before", "nsysai_mock", "fuser_report1", "lighttransport_gemm_profile"],
)
def test_public_traces_that_prove_no_step(name: str):
    store = run_of(f"public/{name}.sqlite")
    for find in (by_launches, by_period):
        assert find(store, load_ops(store))[0] is None
