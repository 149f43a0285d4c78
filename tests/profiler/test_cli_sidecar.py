"""stepprof breakdown --sidecar as a user or a script meets it."""

import csv
import json

import pytest

from tests.profiler.conftest import Done
from tests.real_runs import run_of

KEYS = {
    "calls", "empty_calls", "skipped_share", "per_rows", "join_wait_us_per_step", "held_us_per_step", "away_us_per_step", "by_layer",
    "fit", "headroom_us", "clock_offset_bound_ns", "warnings",
}  # fmt: skip
ROWS = {
    "rows", "calls", "p50_us", "p95_us", "p99_us", "max_us", "mean_us", "phases_mean_us", "kinds_mean_us", "floor_us",
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
    assert set(found["fit"]) == {"estimator", "fixed_us", "per_row_us", "per_expert_us", "max_residual_us"}
    assert set(found["by_layer"][0]) == {"layer", "rows", "main_ready_us", "sidecar_us", "join_wait_us"}
    assert (found["calls"], found["empty_calls"], found["skipped_share"]) == (144, 0, None)
    assert found["join_wait_us_per_step"] == pytest.approx(2_872.899)
    assert found["held_us_per_step"] == pytest.approx(3_127.025), "whatif says 3,117 for a sidecar that takes no time"
    assert [group["rows"] for group in found["per_rows"]] == [1, 2, 4, 6]
    for group in found["per_rows"]:
        assert set(group) == ROWS
        assert sum(group["phases_mean_us"].values()) == pytest.approx(group["mean_us"], rel=1e-12)
        assert sum(group["kinds_mean_us"].values()) == pytest.approx(group["mean_us"], rel=1e-12)
        # two experts a row of 12.6 MB at 4 TB/s
        assert group["floor_us"] == pytest.approx(2 * group["rows"] * 3.145728)
    mean = sum(group["calls"] * (group["mean_us"] - group["floor_us"]) for group in found["per_rows"]) / 144
    assert found["headroom_us"] == pytest.approx(mean)
    assert found["warnings"] == []


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
    assert set(found) == KEYS | {"classes"}
    assert [(c["name"], c["steps"], c["calls"]) for c in found["classes"]] == [("prose", 8, 18.0), ("code", 8, 12.0)]
    assert "prose" in breakdown("--sidecar", *words).stdout


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


def test_one_card_is_refused(breakdown):
    done = breakdown("--sidecar", "--json", trace="h200_hf_deepseek_compile.sqlite")
    assert (done.returncode, done.stdout) == (4, "")
    assert "all ops ran on one card, so no sidecar can be seen" in done.stderr
