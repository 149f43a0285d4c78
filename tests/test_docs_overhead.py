"""The table of tracing costs in docs/limits.md says what the receipts of benchmarks/overhead.py say."""

import json
from statistics import median
from typing import Any

import pytest

from tests.repository import ROOT

PAGE = (ROOT / "docs/limits.md").read_text()
NAMES = {
    "1k": "1,000 kernels of 1 k elements", "256k": "of 256 k elements", "4m": "of 4 M elements", "gemv": "products of 6 rows",
    "two branches": "two branches, 256 k", "flash": "`flash`", "hf_decode": "Hugging Face decode", "mini": "`mini`",
}  # fmt: skip


def modes(part: str) -> dict[str, Any]:
    file = "overhead_h200x2.json" if part == "mini" else "overhead_h200.json"
    rows = json.loads((ROOT / "benchmarks/receipts" / file).read_text())["rows"]
    return {row["mode"]: row for row in rows if row["part"] == part}


def ratio(found: dict[str, float], digits: int = 2) -> str:
    value, low, high = (f"{found[key]:.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


@pytest.mark.parametrize("part", NAMES)
def test_a_row_of_the_table_is_that_of_the_receipt(part: str):
    found = modes(part)
    cells = [
        NAMES[part],
        f"{median(found['untraced']['step_ms']):.2f}",
        *(ratio(found[mode]["step_inflation"]) for mode in ("collector", "nsys", "torch")),
        ratio(found["collector"]["step_against_nsys"]),
        ratio(found["marks"]["step_inflation"]),
        ratio(found["marks"]["span_inflation"], 3),
    ]
    assert f"| {' | '.join(cells)} |" in PAGE


def test_what_is_said_of_all_rows():
    every = {part: modes(part) for part in NAMES}
    for found in every.values():
        for one in (found["collector"]["step_against_nsys"], found["marks"]["step_inflation"]):
            assert one["low"] <= 1 <= one["high"]
        assert found["collector"]["dropped_records"] == 0
    assert [part for part in NAMES if half(every[part], "step_inflation") > 0.0101] == ["flash", "hf_decode", "mini"]
    assert [part for part in NAMES if half(every[part], "span_inflation") > 0.01] == ["hf_decode"]
    assert "the step of the five chains" in PAGE and "the GPU span of seven rows" in PAGE


def test_what_a_range_costs():
    found = modes("10,000 marks")
    cost = [(ms - median(found["untraced"]["step_ms"])) / 10 for ms in found["marks"]["step_ms"]]
    assert f"a range costs the host {min(cost):.1f} to {max(cost):.1f} µs" in PAGE


def half(found: dict[str, Any], key: str) -> float:
    one = found["marks"][key]
    return (one["high"] - one["low"]) / 2
