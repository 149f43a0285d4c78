"""stepprof breakdown --sidecar as a user or a script meets it."""

import csv
import json

import pytest

from tests.profiler.conftest import Done
from tests.real_runs import run_of
from tests.repository import ROOT

KEYS = {
    "steps", "calls", "empty_calls", "skipped_share", "source", "rows_from", "rows_said", "all", "per_rows",
    "join_wait_us_per_step", "held_us_per_step", "away_us_per_step", "by_layer", "by_step", "waits_said",
    "clock_offset_bound_ns", "clock_offset_ns", "clocks_apart_ns", "clocks_said", "join_wait_corrected_us_per_step", "below_bound", "fit", "fit_robust", "fit_said", "headroom_us", "headroom_said", "floor_said",
    "tracing_inflation", "tracing_inflation_interval", "inflation_span", "inflation_prologue", "warnings",
}  # fmt: skip
ROWS = {
    "rows", "calls", "p50_us", "p95_us", "p99_us", "max_us", "mean_us", "phases_mean_us", "kinds_mean_us",
    "phase_kinds_mean_us", "parts_mean_us", "floor_us", "join_wait_us", "join_wait_us_per_step", "away_us",
}  # fmt: skip
LAYER = {
    "layer", "rows", "calls", "main_ready_us", "sidecar_us", "join_wait_us", "join_wait_us_per_step", "below_bound",
}  # fmt: skip
STEP = {"step", "calls", "join_wait_ns", "away_ns", "below_bound"}
FIT = {"estimator", "fixed_us", "per_row_us", "per_expert_us", "max_residual_us", "intervals"}
CLASS = {
    "name", "own_run", "steps", "steps_used", "calls", "mean_rows", "skipped_share", "p50_us", "join_wait_us", "away_us",
    "tracing_inflation",
}  # fmt: skip
QUOTED = ("--expert-bytes", "12582912", "--bandwidth", "4000")


@pytest.fixture
def breakdown(stepprof):
    """`stepprof breakdown` on the demo capture."""

    def run(*words: object, trace: str = "h200x2_overlap.sqlite") -> Done:
        return stepprof("breakdown", run_of(trace, edges=trace == "h200x2_overlap.sqlite").path, *words)

    return run


@pytest.fixture
def document(breakdown):
    """Its JSON document with --sidecar."""

    def read(*words: object):
        done = breakdown("--sidecar", *words, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return read


def test_the_document_has_the_contracts_keys(document):
    found = document(*QUOTED)
    assert set(found) == KEYS
    assert set(found["fit"]) == set(found["fit_robust"]) == FIT
    assert set(found["by_layer"][0]) == LAYER and set(found["by_step"][0]) == STEP
    assert (found["calls"], found["empty_calls"], found["skipped_share"]) == (144, 0, None)
    assert found["join_wait_us_per_step"] == pytest.approx(2_872.899)
    assert found["held_us_per_step"] == pytest.approx(3_127.025), "whatif says 3,117 for a sidecar that takes no time"
    assert [group["rows"] for group in found["per_rows"]] == [1, 2, 4, 6]
    for group in found["per_rows"]:
        assert set(group) == ROWS
        assert sum(group["phases_mean_us"].values()) == pytest.approx(group["mean_us"], rel=1e-12)
        assert sum(group["kinds_mean_us"].values()) == pytest.approx(group["mean_us"], rel=1e-12)
        assert sum(group["parts_mean_us"].values()) == pytest.approx(group["mean_us"], rel=1e-12)
        for phase, kinds in group["phase_kinds_mean_us"].items():
            assert sum(kinds.values()) == pytest.approx(group["phases_mean_us"][phase], rel=1e-12)
        # two experts a row of 12.6 MB at 4 TB/s
        assert group["floor_us"] == pytest.approx(2 * group["rows"] * 3.145728)
    mean = sum(group["calls"] * (group["mean_us"] - group["floor_us"]) for group in found["per_rows"]) / 144
    assert found["headroom_us"] == pytest.approx(mean)
    assert found["warnings"] == []


def test_the_document_says_what_the_terminal_says(breakdown, document):
    found, text = document(*QUOTED), " ".join(breakdown("--sidecar", *QUOTED).stdout.split())
    for key in ("rows_said", "fit_said", "headroom_said", "floor_said"):
        assert found[key] and found[key] in text
    for fit in (found["fit"], found["fit_robust"]):
        low, high = fit["intervals"]["per_row_us"]
        assert low <= fit["per_row_us"] <= high and list(fit["intervals"]) == ["fixed_us", "per_row_us"]
        assert f"{fit['per_row_us']:.1f} ({low:.1f} to {high:.1f}) µs a row; {fit['estimator']}, off by" in text
    kinds = found["all"]["phase_kinds_mean_us"]["up_gate"]
    assert kinds == pytest.approx({"gemm": 17.8, "elementwise": 4.9, "copy": 3.1}, abs=0.05)
    assert "gemm 69 % elementwise 19 % copy 12 %" in text


def test_the_words_about_graph_captures_are_in_the_document(breakdown):
    found = json.loads(breakdown("--sidecar", "--json", trace="h200x2_graph.sqlite").stdout)
    (sentence,) = found["waits_said"]
    assert sentence.startswith("The main card really waits at the first op of `experts` (96 of 96 joins)")
    assert (found["rows_from"], found["rows_said"], found["fit"]["intervals"]) == (None, "rows unknown", {})


def test_waits_add_up_to_those_of_the_step(document):
    found = document()
    assert [step["step"] for step in found["by_step"]] == list(range(8))
    waited = found["join_wait_us_per_step"]
    assert sum(step["join_wait_ns"] for step in found["by_step"]) == pytest.approx(8e3 * waited)
    for parts in (found["by_layer"], found["per_rows"], [found["all"]]):
        assert sum(part["join_wait_us_per_step"] for part in parts) == pytest.approx(waited)


def test_every_key_of_the_document_is_described():
    page = (ROOT / "docs/commands.md").read_text()
    assert sorted(key for key in {"classes"} | KEYS | ROWS | LAYER | STEP | FIT | CLASS if f"`{key}`" not in page) == []


def test_one_step(document):
    found = document("--step", "0")
    assert (found["calls"], found["join_wait_us_per_step"]) == (18, pytest.approx(2_863.501))


def test_a_line_a_call_as_csv(breakdown, tmp_path):
    assert breakdown("--sidecar", "--csv", "calls.csv").returncode == 0
    rows = list(csv.DictReader((tmp_path / "calls.csv").open()))
    first = rows[0]
    assert (len(rows), first["layer"], first["rows"], first["experts"], first["class"]) == (144, "1", "1", "2", "")
    assert (first["join_wait_ns"], first["main_ready_ns"], first["sidecar_ns"]) == ("40262", "70464", "110726")
    assert sum(int(row["join_wait_ns"]) for row in rows if row["step"] == "7") == 2_897_305


def test_the_terminal_answers_in_80_columns(breakdown):
    done = breakdown("--sidecar", *QUOTED)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = " ".join(done.stdout.split())
    for said in (
        "144 sidecar calls in 8 steps, 18.0 a step",
        "call mean 232.1 µs = 161.1 copying + 36.2 computing + 34.7 gaps",
        "Most of a call is copying (69 %); in the phases that serve the experts copy is the largest kind (83 %).",
        "rows and experts cannot be told apart (every row brings 2 experts)",
        "the main card waits 2.873 ms a step at joins",
        "The largest headroom is in gather",
        "12.5829 MB (quoted) × experts ÷ 4000 GB/s (quoted), modelled",
    ):
        assert said in text


def test_classes_of_several_runs(breakdown, document):
    demo, graph = run_of("h200x2_overlap.sqlite", edges=True).path, run_of("h200x2_graph.sqlite").path
    words = ("--class", f"prose={demo}", "--class", f"code={graph}")
    found = document(*words)
    assert set(found) == KEYS | {"classes"} and set(found["classes"][0]) == CLASS
    assert [(c["name"], c["steps"], c["calls"]) for c in found["classes"]] == [("prose", 8, 18.0), ("code", 8, 12.0)]
    assert [(w["class"], w["code"]) for w in found["warnings"] if "class" in w] == [
        ("prose", "floor_unknown"),
        ("code", "rows_unknown"),
        ("code", "floor_unknown"),
    ]
    text = " ".join(breakdown("--sidecar", "--steps", "0:2", *words).stdout.split())
    assert (
        "36 sidecar calls in 2 steps" in text and "steps of --class runs: prose 0:8; code 0:8 (all whole ones" in text
    )
    assert "warning: class code: 96 calls do not say how many rows they had" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--class", "a=b"), "--class, --expert-bytes and --bandwidth belong to --sidecar"),
        (("--sidecar", "--class", "nothing"), "--class nothing names no run: write --class NAME=TRACE."),
        (("--sidecar", "--bandwidth", "-1"), "--bandwidth -1 is no amount"),
        (("--sidecar", "--expert-bytes", "nan"), "--expert-bytes nan is no amount"),
        (("--sidecar", "--by", "layer"), "--by layer says nothing of --sidecar"),
    ],
)
def test_wrong_calls(breakdown, words, said):
    done = breakdown(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_floor_above_the_calls_is_questioned(breakdown, document):
    """At 4.8 GB/s 2 experts of 12.6 MB take 5,242.9 µs, and the call takes 117."""
    words = ("--expert-bytes", "12582912", "--bandwidth", "4.8")
    found = document(*words)
    assert [(one["code"], one["count"]) for one in found["warnings"]] == [("floor_above_call", 144)]
    assert (found["headroom_us"], found["per_rows"][0]["floor_us"]) == (None, pytest.approx(5_242.88))
    text = " ".join(breakdown("--sidecar", *words).stdout.split())
    assert "warning: The floors of 144 calls are above the median call of as many rows" in text
    assert "The largest headroom" not in text


def test_the_bandwidth_of_a_bench(document):
    """4,079.1 GB/s on the same card: no warning, and the floor is modelled from a measured figure."""
    receipt = ROOT / "benchmarks/receipts/sidecar_modes_flash.json"
    found = document("--expert-bytes", "12582912", "--bandwidth", receipt)
    assert found["per_rows"][0]["floor_us"] == pytest.approx(2 * 12_582.912 / 4_079.109, rel=1e-6)
    assert (found["floor_said"], found["warnings"]) == (
        "12.5829 MB (quoted) × experts ÷ 4,079 GB/s (measured on NVIDIA H200, sidecar_modes_flash.json), modelled",
        [],
    )


def test_one_card_is_refused(breakdown):
    done = breakdown("--sidecar", "--json", trace="h200_hf_deepseek_compile.sqlite")
    assert (done.returncode, done.stdout) == (4, "")
    assert "all ops ran on one card, so no sidecar can be seen" in done.stderr
