"""benchmarks/overhead.py with launches that are made up: ratios, rows, the round robin, and its end."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repository import ROOT


@pytest.fixture
def figures() -> Any:
    return importlib.import_module("overhead_figures")


@pytest.fixture
def overhead() -> Any:
    return importlib.import_module("overhead")


def part(wall: float, span: float | None = None, name: str = "1k") -> dict[str, Any]:
    spans = [] if span is None else [span, span, 99.0]
    return {"name": name, "first": 0, "steps": 3, "wall_ms": [wall, wall, 99.0], "span_ms": spans, "span_of": "graph"}


@pytest.mark.parametrize(("complaint", "fault"), [
    ("torch: segfault\nstepprof: the program failed with exit code 139\ntracing cost unknown\n", "stepprof: the program failed with exit code 139"),
    ("no GPU\nlast words\n\n", "last words"),
    ("", "exit code -11 and no step times"),
])  # fmt: skip
def test_a_failed_launch_keeps_the_sentence_that_says_why(overhead, complaint, fault):
    assert importlib.import_module("overhead_modes")._fault(-11, complaint) == fault


def test_a_row_holds_launch_medians_against_untraced_ones(figures):
    plain, slow = figures.Cell(), figures.Cell()
    for wall in (1.0, 1.0):
        plain.add(part(wall, 0.8))
        slow.add(part(1.5 * wall, 1.0))
    slow.traced = figures.Traced(3, 1000.0, 1000.0, 600.0, 0, 50.0, 20.0)
    row = figures.row("chains", "1k", "collector", slow, plain)
    assert (row["launches"], row["step_ms"], row["span_ms"]) == (2, [1.5, 1.5], [1.0, 1.0])
    assert row["step_inflation"] == pytest.approx({"value": 1.5, "low": 1.5, "high": 1.5, "kind": "measured"})
    assert row["span_inflation"]["value"] == pytest.approx(1.25)
    assert (row["kernel_duration_us"], row["kernel_period_us"]) == (0.6, 1.0)
    assert row["kernel_period_change"] == pytest.approx(1.25)  # 0.8 µs an op without a tool
    assert (row["dropped_records"], row["record_bytes_per_op"]) == (0, 50.0)


def test_a_span_around_a_replay_is_no_kernel_period(figures):
    plain, slow = figures.Cell(), figures.Cell()
    for cell in (plain, slow):
        cell.add({**part(1.0, 0.8), "span_of": "replay"})
    slow.traced = figures.Traced(3, 1000.0, 1000.0, 600.0, None, None, 20.0)
    row = figures.row("mini", "mini", "nsys", slow, plain)
    assert row["kernel_period_change"] is None and row["step_inflation"] is None  # one launch tells no interval


def test_every_other_round_runs_backwards(figures):
    cells = [("a", "untraced"), ("a", "nsys")]
    assert [figures.order(n, cells) for n in range(3)] == [cells, cells[::-1], cells]


@pytest.mark.parametrize(
    ("past", "same", "left", "answer"),
    [([], [], 11, True), ([], [], 9, False), ([5, 12], [1], 11, False), ([], [8], 9, True)],
)
def test_a_launch_starts_only_where_it_likely_ends(figures, past, same, left, answer):
    assert figures.fits(past, same, left) is answer


def test_round_robin_with_a_mode_that_fails(overhead, capsys):
    """Three rounds; nsys is not here and is asked twice, no more."""
    asked: list[str] = []

    def start(mode: str, command: list[str], folder: Path, limit_s: float) -> Any:
        asked.append(mode)
        if mode == "nsys":
            return overhead.Launched(fault="nsys is not found.")
        return overhead.Launched([part({"untraced": 1.0, "marks": 1.01}[mode])])

    session = overhead.measure(["chains"], ["untraced", "marks", "nsys"], 3, 60, start)
    assert asked == ["untraced", "marks", "nsys", "nsys", "marks", "untraced", "untraced", "marks"]
    rows = {row["mode"]: row for row in session.rows()}
    assert rows["marks"]["step_inflation"]["value"] == pytest.approx(1.01)
    assert "step_inflation" not in rows["untraced"] and rows["untraced"]["launches"] == 3
    assert rows["nsys"] == {
        "workload": "chains", "part": None, "mode": "nsys", "launches": 0, "faults": ["nsys is not found."] * 2,
    }  # fmt: skip


def test_a_receipt_is_continued_where_it_has_too_few_launches(overhead):
    """Two launches untraced and one of nsys are known; three of each are wanted, so one and two are started."""
    known = [("untraced", 1.0), ("untraced", 1.0), ("nsys", 1.5)]
    first = overhead.measure(["chains"], [], 0, 60)
    for mode, wall in known:
        first.add("chains", mode, overhead.Launched([part(wall, 0.8)]), Path())
    first.faults["chains", "marks"].append(overhead.NO_TIME)
    figures = importlib.import_module("overhead_figures")
    first.cells["chains", "1k", "nsys"].traced = figures.Traced(3, 1000.0, 1000.0, 600.0, 0, 50.0, 20.0)
    receipt = json.loads(json.dumps({"rows": first.rows()}))
    session = overhead.continued(receipt)
    assert session.rows() == [row for row in first.rows() if row["part"]]
    asked: list[str] = []

    def start(mode: str, command: list[str], folder: Path, limit_s: float) -> Any:
        asked.append(mode)
        return overhead.Launched([part({"untraced": 1.0, "nsys": 1.5}[mode])])

    done = overhead.measure(["chains"], ["untraced", "nsys"], 3, 60, start, session=session)
    assert asked == ["nsys", "untraced", "nsys"]
    rows = {row["mode"]: row for row in done.rows()}
    assert (rows["untraced"]["launches"], rows["nsys"]["launches"]) == (3, 3)
    assert rows["nsys"]["step_inflation"]["value"] == pytest.approx(1.5) and rows["nsys"]["ops_per_step"] == 1000


def test_our_collector_is_held_against_nsys(overhead):
    session = overhead.measure(["chains"], [], 0, 60)
    for mode, wall in (("untraced", 1.0), ("nsys", 1.25), ("collector", 1.5)):
        for _ in range(2):
            session.add("chains", mode, overhead.Launched([part(wall)]), Path())
    rows = {row["mode"]: row for row in session.rows()}
    assert rows["collector"]["step_against_nsys"]["value"] == pytest.approx(1.2)
    assert "step_against_nsys" not in rows["nsys"] and "step_against_nsys" not in rows["untraced"]


def test_nothing_starts_without_time(overhead):
    session = overhead.measure(["chains"], ["untraced"], 3, 0, lambda *_: pytest.fail("started"))
    (row,) = session.rows()
    assert (row["launches"], row["faults"][0][:16]) == (0, "no time was left")


def test_the_model_prints_its_own_step_times(overhead):
    """The smallest model, on whatever is here."""
    script = str(ROOT / "benchmarks/workloads/model.py")
    words = ["--preset", "tiny", "--layers", "1", "--k", "0", "--steps", "2", "--warm-up", "1"]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout.splitlines()[-1])["parts"]
    assert (found["name"], found["first"], found["steps"], len(found["wall_ms"])) == ("tiny", 2, 2, 2)


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="a GPU may be here")
def test_without_a_gpu_only_the_smallest_model_runs(overhead):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/overhead.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "no NVIDIA GPU is here: --workloads marks,tiny run without one" in done.stderr


def test_unknown_words_are_usage(overhead):
    script = str(ROOT / "benchmarks/overhead.py")
    done = subprocess.run([sys.executable, script, "--modes", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--modes: no 'x'; there are untraced" in done.stderr
