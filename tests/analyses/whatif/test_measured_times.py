"""Measured times that replace an op: which result is meant, and its bounds."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.whatif.measured_times import Wanted, replacement
from stepprof.analyses.whatif.proposal_model import Given
from stepprof.profiler.errors import InputError


def result(**more: Any) -> dict[str, Any]:
    return {"name": "call", "rows": 1, "mode": "call", "p50_us": {"value": 80.0, "kind": "measured"}} | more


def written(folder: Path, document: Any) -> Path:
    path = folder / "bench.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def says(rows: int) -> str:
    return f"bench.json: call, mode call, rows {rows}: 80.00 us, measured on NVIDIA H200, 2026-11-30"


def test_a_figure_has_its_kind_and_the_range_of_its_blocks(tmp_path: Path):
    head = {"bench": "sidecar", "gpu": ["NVIDIA H200", "NVIDIA H200"], "date": "2026-11-30"}
    path = written(tmp_path, {**head, "results": [result(), result(rows=2, block_p50_us=[70, 90])]})
    assert replacement(path, Wanted(rows=1)) == Given(80, 80, 80, "measured", says(1))
    assert replacement(path, Wanted(rows=2)) == Given(80, 70, 90, "measured", says(2))
    quoted = written(tmp_path, {"bench": "sidecar", "results": [result(p50_us={"value": 3, "kind": "quoted"})]})
    assert replacement(quoted, Wanted()).kind == "quoted"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "is no bench file"),
        ({"bench": "sidecar", "results": [result()], "complete": False}, "did not run to its end"),
        (
            {"bench": "sidecar", "results": [result(rows=2)]},
            "no result fits: choose one by result, mode and rows; there are call, mode call, rows 2",
        ),
        ({"bench": "sidecar", "results": [result(p50_us=None)]}, "is no bench file"),
        (
            {"bench": "sidecar", "results": [result(p50_us={"value": 0, "kind": "measured"})]},
            "p50_us and block_p50_us must be above 0",
        ),
        (
            {"bench": "sidecar", "results": [result(p50_us={"value": 1, "kind": "guessed"})]},
            "is no bench file",
        ),
    ],
)
def test_faults(tmp_path: Path, document: Any, said: str):
    with pytest.raises(InputError) as fault:
        replacement(written(tmp_path, document), Wanted(rows=1))
    assert said in str(fault.value)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        replacement(tmp_path / "none.json", Wanted())
