"""Every answer that rests on traced times says what tracing did to them: below 1.05, above it, and where unknown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest

from tests.profiler.conftest import answer
from tests.real_runs import run_of

CHEAP = {"": 1.02, "_low": 0.99, "_high": 1.06}  # the interval crosses 1.05: no warning
DEAR = {"": 1.5, "_low": 1.4, "_high": 1.6}
SAID = {
    "cheap": "tracing makes a step 1.02 times as long as untraced (0.99 to 1.06)",
    "dear": "tracing makes a step 1.50 times as long as untraced (1.40 to 1.60)",
    "unknown": "tracing cost unknown (no untraced control on record)",
}
FIELDS = {"cheap": (1.02, [0.99, 1.06]), "dear": (1.5, [1.4, 1.6]), "unknown": (None, None)}
WARNED = "times saved in this trace are not the times saved without it"
PROPOSAL = '[[proposal]]\nname = "no norms"\nremove = { role = "norm" }\n'
ANSWERS = [
    ("steps",),
    ("breakdown",),
    ("roles",),
    ("whatif", "p.toml"),
    ("whatif", "--suggest", "--most", "1"),
    ("speculate", "--kept", "2", "--k", "3"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of the same steps: their controls said 1.02, 1.50 and nothing."""
    for name, told in {"cheap": CHEAP, "dear": DEAR, "unknown": {}}.items():
        shutil.copy(run_of("mini_h200x2.sqlite").path, tmp_path / f"{name}.duckdb")
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as con:
            for end, value in told.items():
                con.execute("INSERT INTO manifest VALUES (?, ?)", [f"tracing_inflation{end}", repr(value)])
    (tmp_path / "p.toml").write_text(PROPOSAL)
    return tmp_path


def told(document: dict[str, Any]) -> tuple[Any, Any]:
    return document["tracing_inflation"], document["tracing_inflation_interval"]


@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_an_answer_says_it_with_its_interval(folder, stepprof, words):
    command, *rest = words
    for name, text in SAID.items():
        assert text in stepprof(command, f"{name}.duckdb", *rest).stdout
        document = answer(stepprof(command, f"{name}.duckdb", *rest, "--json"))
        assert told(document) == FIELDS[name]
        if command in ("whatif", "speculate"):
            codes = [warning["code"] for warning in document["warnings"]]
            assert ("tracing_inflation" in codes) == (name == "dear")


def test_speculation_on_given_figures_alone_says_nothing_of_tracing(folder, stepprof):
    words = ("speculate", "dear.duckdb", "--kept", 2, "--k", 3)
    assert answer(stepprof(*words, "--json"))["traced"]
    given = stepprof(*words, "--step-ms", 9)
    assert "tracing" not in given.stdout
    document = answer(stepprof(*words, "--step-ms", 9, "--json"))
    assert (document["traced"], told(document)) == (False, (None, None))


def test_a_comparison_says_it_of_each_launch(folder, stepprof):
    words = ("compare", "cheap.duckdb", "--vs", "dear.duckdb", "unknown.duckdb")
    shown = " ".join(stepprof(*words).stdout.split())
    for name, text in SAID.items():
        assert f"{name}.duckdb: {text}" in shown
    document = answer(stepprof(*words, "--json"))
    (cheap,), (dear, unknown) = (document[arm]["launches"] for arm in ("control", "candidate"))
    assert [told(one) for one in (cheap, dear, unknown)] == list(FIELDS.values())
    assert {"tracing_inflation", "tracing_cost_unknown"} <= {warning["code"] for warning in document["warnings"]}


def test_predictions_and_scores_say_it_beside_the_entry(folder, stepprof):
    """The document is what the scores file holds, so that it goes to standard error there."""
    predicted = ("whatif", "dear.duckdb", "p.toml", "--predict-only", "--control", "cheap.duckdb")
    shown, said = stepprof(*predicted, "--scores-file", "shown.json"), stepprof(*predicted, "--json")
    assert answer(said) == json.loads((folder / "whatif_scores.json").read_text())
    for text in (shown.stdout, said.stderr):
        assert SAID["dear"] in text and f"cheap.duckdb: {SAID['cheap']}" in " ".join(text.split())
        assert WARNED in " ".join(text.split())

    (folder / "whatif_scores.json").unlink()
    scored = ("whatif", "--score", "cheap.duckdb", "dear.duckdb", "p.toml", "--proposal", "no norms")
    shown = " ".join(stepprof(*scored).stdout.split())
    assert all(f"{name}.duckdb: {SAID[name]}" in shown for name in ("cheap", "dear")) and WARNED in shown


def test_an_export_says_it_in_the_file_or_beside_it(folder, stepprof):
    for name, text in SAID.items():
        for kind in ("perfetto", "parquet", "csv"):
            done = stepprof("export", f"{name}.duckdb", "--format", kind, "-o", f"{name}.{kind}", "--step", 5)
            assert (done.returncode, text in done.stderr) == (0, True)
        assert told(json.loads((folder / f"{name}.perfetto").read_text())["otherData"]) == FIELDS[name]
        meta = pyarrow.parquet.read_schema(folder / f"{name}.parquet").metadata
        keys = (b"tracing_inflation", b"tracing_inflation_interval")
        assert tuple(json.loads(meta[key]) for key in keys) == FIELDS[name]
