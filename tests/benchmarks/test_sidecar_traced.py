"""benchmarks/sidecar_traced.py: the row of one call whose phases a person can add up."""

import importlib
import json
from typing import Any

import pytest

from tests.analyses.sidecar.sidecar_program import Program
from tests.repository import ROOT


@pytest.fixture
def traced() -> Any:
    return importlib.import_module("sidecar_traced")


def test_a_row_adds_up_to_the_call(traced):
    """One call from 6 to 26: copies 4, work 12, gaps 4; the main card goes on at 28, with 2 of wake-up."""
    p = Program().step(0, 100)
    p.call(0, rows=2, fork=4, hot=10)
    row = traced.row("graph", p.trace.store())
    assert (row["mode"], row["steps"], row["calls"], row["processes"], row["rows_from"]) == ("graph", 1, 1, 1, "marks")
    assert sum(row["phases_mean_us"].values()) == pytest.approx(row["mean_us"]) and row["left_us"] == 0
    assert row["phases_mean_us"]["up_gate"] == pytest.approx(0.012) and row["outside_steps"] == []


def test_the_receipt_has_all_modes_and_nothing_left_over():
    receipt = json.loads((ROOT / "benchmarks/receipts/sidecar_traced_h200x2.json").read_text())
    assert {row["mode"] for row in receipt["rows"]} >= {"call", "graph", "persistent"}
    for row in receipt["rows"]:
        assert sum(row["phases_mean_us"].values()) == pytest.approx(row["mean_us"], abs=1e-6)
        assert (row["steps"], row["calls"], row["dropped_records"]) == (61, 610, 0)
