"""Ops as Parquet and CSV: all rows of the chosen steps, and no cell a spreadsheet would run."""

import csv
from pathlib import Path

import pyarrow.parquet

from stepprof.analyses.attribution import attribute
from stepprof.profiler.report.tables import write_csv, write_parquet
from tests.profiler.report.two_branches import FORMULA, HOSTILE, two_branches


def test_parquet_holds_the_chosen_steps(tmp_path: Path):
    store = two_branches().store()
    assert write_parquet(tmp_path / "ops.parquet", store, attribute(store), [1]) == 5
    table = pyarrow.parquet.read_table(tmp_path / "ops.parquet").to_pydict()
    assert table["name"] == ["a", HOSTILE, FORMULA, "d", "e"]
    assert table["exposed_ns"] == [20, 0, 30, 8, 16]


def test_parquet_says_what_tracing_did(tmp_path: Path):
    store = two_branches().add("manifest", key="tracing_inflation", value="1.25").store()
    write_parquet(tmp_path / "ops.parquet", store, attribute(store), [0])
    told = pyarrow.parquet.read_schema(tmp_path / "ops.parquet").metadata
    assert (told[b"tracing_inflation"], told[b"tracing_inflation_interval"]) == (b"1.25", b"null")


def test_csv_cells_are_no_formulas(tmp_path: Path):
    store = two_branches().store()
    assert write_csv(tmp_path / "ops.csv", store, attribute(store), [0, 1]) == 10
    with (tmp_path / "ops.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows[:3]] == ["a", HOSTILE, "'" + FORMULA]
    assert [int(row["start_ns"]) for row in rows] == [10, 30, 30, 62, 74, 210, 230, 230, 262, 274]
