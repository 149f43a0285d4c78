"""whatif --suggest, --predict-only, --score and --scores as a user meets them: one real run, made-up launches."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stepprof.profiler.commands.whatif import spelled
from tests.analyses.gates.gates import document
from tests.profiler.conftest import answer
from tests.real_runs import run_of

PROPOSALS = """
[[proposal]]
name = "shorter lm_head"
predicted = -0.05
scale = { role = "lm_head", factor = 0.5 }

[[proposal]]
name = "no norms"
remove = { role = "norm" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of 13 steps, proposals, and documents of launches: controls near 2 ms, candidates near 1.9."""
    shutil.copy(run_of("mini_h200x2.sqlite").path, tmp_path / "before.duckdb")
    (tmp_path / "p.toml").write_text(PROPOSALS)
    for name, step_ms in {"a1": 2.0, "a2": 2.01, "a3": 1.99, "b1": 1.9, "b2": 1.91, "b3": 1.92}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document(step_ms)))
    return tmp_path


def entries(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "whatif_scores.json").read_text())


CONTROLS = ("--control", "a1.json", "a2.json", "a3.json")
CANDIDATES = ("--candidate", "b1.json", "b2.json", "b3.json")


def test_predict_then_measure_then_score(folder, stepprof):
    predicted = stepprof("whatif", "before.duckdb", "p.toml", "--predict-only", *CONTROLS, "--json")
    assert predicted.returncode == 0, predicted.stderr
    first, second = answer(predicted)
    assert [first["proposal"], second["proposal"]] == ["shorter lm_head", "no norms"]
    assert first["predicted_step_ms"] == round(2.0 - first["predicted_saving_ms"], 6)
    assert (first["measured_step_ms"], first["human_estimate_ms"]) == (None, 0.05)
    assert entries(folder) == [first, second]

    name = ("--proposal", "no norms")
    scored = stepprof("whatif", "--score", "before.duckdb", *name, *CONTROLS, *CANDIDATES, "--json")
    assert scored.returncode == 0, scored.stderr
    done = answer(scored)
    assert done == second | {"measured_step_ms": 1.91, "measured_saving_ms": 0.09, "noise_floor_ms": 0.01633}
    assert entries(folder) == [first, done]

    again = stepprof("whatif", "--score", "before.duckdb", *name, *CONTROLS, *CANDIDATES)
    assert (again.returncode, "waits for its measurement" in again.stderr) == (4, True)

    shown = stepprof("whatif", "--scores")
    assert "no norms" in shown.stdout and "waits" in shown.stdout and "Track record: 1 scored" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert answer(stepprof("whatif", "--scores", "--json"))["pending"] == [first]

    plain = stepprof("whatif", "before.duckdb", "p.toml")
    assert "Track record: 1 scored" in plain.stdout
    assert answer(stepprof("whatif", "before.duckdb", "p.toml", "--json"))["track_record"].startswith("Track record: 1")


def test_another_prediction_is_refused_and_none_at_all_is_made(folder, stepprof):
    name = ("--proposal", "no norms")
    once = stepprof("whatif", "--score", "before.duckdb", "p.toml", *name, *CONTROLS, *CANDIDATES, "--json")
    assert (once.returncode, entries(folder)) == (0, [answer(once)])

    stepprof("whatif", "before.duckdb", "p.toml", "--predict-only", *name, *CONTROLS)
    (folder / "p.toml").write_text(PROPOSALS.replace('role = "norm"', 'role = "mhc"'))
    changed = stepprof("whatif", "--score", "before.duckdb", "p.toml", *name, *CONTROLS, *CANDIDATES)
    assert (changed.returncode, "what was predicted is not changed" in changed.stderr) == (4, True)
    assert entries(folder)[1]["measured_step_ms"] is None


def test_before_and_after_alone_are_one_launch_an_arm(folder, stepprof):
    shutil.copy(folder / "before.duckdb", folder / "after.duckdb")
    once = stepprof("whatif", "--score", "before.duckdb", "after.duckdb", "p.toml", "--proposal", "no norms", "--json")
    found = answer(once)
    assert (found["measured_saving_ms"], found["noise_floor_ms"]) == (0.0, None)


def test_predictions_for_a_person_say_which_step_they_start_from(folder, stepprof):
    traced = stepprof("whatif", "before.duckdb", "p.toml", "--predict-only", "--proposal", "no norms").stdout
    assert traced.startswith("step today 1.9560 ms, from the trace as traced")
    assert max(map(len, traced.splitlines())) <= 80
    untraced = ("whatif", "before.duckdb", "p.toml", "--predict-only", "--proposal", "shorter lm_head", *CONTROLS)
    assert stepprof(*untraced).stdout.startswith("step today 2.0000 ms, from launches of --control")


def test_suggestions_are_taken_back(folder, stepprof):
    found = answer(stepprof("whatif", "before.duckdb", "--suggest", "--most", 2, "-o", "s.toml", "--json"))
    assert (folder / "s.toml").read_text() == found["toml"]
    assert [row["saved_ops"] for row in found["suggestions"]] == [21, 20]
    again = answer(stepprof("whatif", "before.duckdb", "s.toml", "--json"))
    deltas = {one["name"]: one["alone"]["delta_ms"]["value"] for one in again["proposals"]}
    assert deltas == {row["name"]: row["delta_ms"]["value"] for row in found["suggestions"]}

    shown = stepprof("whatif", "before.duckdb", "--suggest", "--most", 1).stdout
    table, _, toml = shown.partition("# Fusions")
    assert "mhc_pre_rms_norm_kernel" in table
    assert len(tomllib.loads("# Fusions" + toml)["proposal"]) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("before.duckdb",), 2, "files named: 1; write stepprof whatif TRACE PROPOSALS.toml"),
        (("before.duckdb", "p.toml", "--suggest", "--scores"), 2, "--suggest and --scores exclude each other"),
        (("before.duckdb", "p.toml", "--proposal", "no norm"), 2, 'no proposal is named "no norm": did you mean no norms'),
        (("--score", "before.duckdb", "p.toml", "--proposal", "no norms"), 2, "whatif --score BEFORE AFTER"),
        (("--score", "before.duckdb", "b1.json"), 2, "name it with --proposal"),
        (("--score", "before.duckdb", "b1.json", "p.toml", "--proposal", "no norms"), 1, "step times of different kinds"),
        (("--score", "before.duckdb", "--proposal", "no norms", *CONTROLS, "--candidate", "a1.json"), 4, "no prediction of"),
        (("--score", "before.duckdb", "p.toml", "--proposal", "no norms", *CONTROLS, "--candidate", "a1.json"), 2, "a1.json is given twice"),
        (("--scores", "--scores-file", "p.toml"), 1, "p.toml is no list of scores"),
    ],
)  # fmt: skip
def test_faults_are_one_sentence(folder, stepprof, words, code, said):
    done = stepprof("whatif", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not (folder / "whatif_scores.json").exists()


def test_files_behind_control_and_candidate_are_all_theirs():
    words = ["whatif", "--control", "a", "b", "--candidate", "c", "--json", "t", "--control", "-x"]
    assert spelled(words) == ["whatif", "--control", "a", "--control", "b", "--candidate", "c", "--json", "t", "-x"]
    assert spelled(["compare", "--control", "a", "b"]) == ["compare", "--control", "a", "b"]
