"""The scores file only grows, and what was predicted in it never changes."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stepprof.analyses.whatif.scores import Score, append, fill, read_scores
from stepprof.profiler.errors import InputError, Refused

KEYS = [
    "proposal",
    "trace",
    "predicted_step_ms",
    "measured_step_ms",
    "predicted_saving_ms",
    "interval_ms",
    "measured_saving_ms",
    "noise_floor_ms",
    "null_sum_of_work_ms",
    "human_estimate_ms",
    "date",
    "gpu",
    "command",
]


def score(name: str = "fuse", **given: Any) -> Score:
    """8 ms now, 7.5 predicted; nothing measured unless given."""
    values: dict[str, Any] = {
        "proposal": name,
        "trace": "a.duckdb 0123456789abcdef",
        "predicted_step_ms": 7.5,
        "measured_step_ms": None,
        "predicted_saving_ms": 0.5,
        "interval_ms": (0.4, 0.6),
        "measured_saving_ms": None,
        "noise_floor_ms": None,
        "null_sum_of_work_ms": 0.9,
        "human_estimate_ms": None,
        "date": "2026-11-30",
        "gpu": "NVIDIA H200",
        "command": "stepprof whatif",
    }
    return Score(**(values | given))


def measured(name: str = "fuse", **given: Any) -> Score:
    return score(name, **({"measured_step_ms": 7.6, "measured_saving_ms": 0.4, "noise_floor_ms": 0.05} | given))


def test_entries_have_exactly_the_keys_of_the_file_and_append_keeps_older_ones(tmp_path: Path):
    path = tmp_path / "scores.json"
    assert read_scores(path) == []
    append(path, measured("one"))
    before = path.read_text().splitlines()[1]
    append(path, measured("two"), score("three"))
    assert path.read_text().splitlines()[1] == before + ","
    assert [list(entry) for entry in json.loads(path.read_text())] == [KEYS] * 3
    assert read_scores(path) == [measured("one"), measured("two"), score("three")]


def test_a_prediction_waits_for_its_measurement_and_is_not_made_twice_meanwhile(tmp_path: Path):
    path = tmp_path / "scores.json"
    append(path, score(), score("other"))
    with pytest.raises(Refused, match=r"'fuse' from a\.duckdb 0123456789abcdef is on record and not measured yet"):
        append(path, score())
    fill(path, measured())
    append(path, score())  # a second batch
    assert read_scores(path) == [measured(), score("other"), score()]


def test_filling_changes_the_measured_figures_alone(tmp_path: Path):
    path = tmp_path / "scores.json"
    append(path, score("other"), score())
    done = fill(path, measured(predicted_step_ms=7.3, date="2027-01-01", command="another"))
    assert done == measured() == read_scores(path)[1]


@pytest.mark.parametrize(
    "changed",
    [
        {"predicted_saving_ms": 0.45},
        {"interval_ms": (0.3, 0.6)},
        {"null_sum_of_work_ms": 1.0},
        {"human_estimate_ms": 0.2},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_prediction_than_on_record_is_refused_and_nothing_written(tmp_path: Path, changed: dict[str, Any]):
    path = tmp_path / "scores.json"
    append(path, score())
    before = path.read_bytes()
    with pytest.raises(Refused, match=f"was predicted with {next(iter(changed))}"):
        fill(path, measured(**changed))
    assert path.read_bytes() == before


def test_only_the_same_proposal_of_the_same_trace_is_filled(tmp_path: Path):
    path = tmp_path / "scores.json"
    append(path, score())
    for other in (measured("fuze"), measured(trace="b.duckdb 0")):
        with pytest.raises(Refused, match="waits for its measurement: make one with --predict-only"):
            fill(path, other)
    fill(path, measured())
    with pytest.raises(Refused, match="waits for its measurement"):
        fill(path, measured(measured_step_ms=7.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[{]", "is no list of scores"),
        ("{}", "is no list of scores"),
        ('[{"proposal": 3}]', "entry 1: Expected `str`"),
        (json.dumps([msgspec.to_builtins(score()) | {"more": 1}]), "entry 1: .*unknown field `more`"),
        (json.dumps([msgspec.to_builtins(score()) | {"predicted_step_ms": 1e300}]), "entry 1: "),
    ],
)
def test_a_file_that_holds_no_scores_is_told_and_left_alone(tmp_path: Path, text: str, said: str):
    path = tmp_path / "scores.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        append(path, score())
    assert path.read_text() == text
    assert [child.name for child in tmp_path.iterdir()] == ["scores.json"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        append(tmp_path / "none" / "scores.json", score())


def _many(path: Path, name: str) -> None:
    for i in range(5):
        append(path, measured(f"{name}{i}"))


def test_two_writers_at_once_lose_nothing(tmp_path: Path):
    path = tmp_path / "scores.json"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_many, args=(path, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(entry.proposal for entry in read_scores(path)) == [f"{name}{i}" for name in "ab" for i in range(5)]
    assert [child.name for child in tmp_path.iterdir()] == ["scores.json"]
