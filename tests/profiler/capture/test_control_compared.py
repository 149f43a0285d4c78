"""Which steps the control is compared with, and where there is nothing to compare."""

import json
import sys

from tests.profiler.capture.runs_told import manifest, warnings


def test_a_program_without_marks_is_recorded_without_a_ratio(capture, tmp_path):
    done = capture("-o", "r.duckdb", FAKE_MARKS=0)
    assert done.returncode == 0, done.stderr
    assert warnings(tmp_path / "r.duckdb")["control_without_steps"] == (
        "The control could not be compared: mark the steps (step/<n>), or give --marker REGEX."
    )


def test_steps_too_few_to_compare_are_told_as_such(capture, tmp_path):
    assert capture("--steps", "2:4", "-o", "r.duckdb", FAKE_STEPS=40).returncode == 0
    assert warnings(tmp_path / "r.duckdb")["control_without_steps"] == (
        "The control could not be compared: fewer than three steps were timed in both runs, so record more of them."
    )


def test_a_window_is_compared_with_the_same_steps_of_the_control(capture, tmp_path):
    """Steps grow from 1 to 6 ms: those of the window are half as long as the middle one of all."""
    done = capture("--steps", "10:20", "-o", "r.duckdb", FAKE_STEPS=50, FAKE_STEP_US=1000, FAKE_GROW=100)
    facts = manifest(tmp_path / "r.duckdb")
    assert 0.8 < float(facts["tracing_inflation"]) < 1.25, done.stderr
    assert len(json.loads(facts["control_step_ns"])) == 10


def test_a_program_without_gpu_ops_is_told_and_gives_no_inflation(capture, tmp_path):
    code = "import nvtx\nfor i in range(9):\n    with nvtx.annotate(f'step/{i}'): pass"
    done = capture("-o", "r.duckdb", program=[sys.executable, "-c", code])
    assert done.returncode == 0 and "tracing cost unknown" in done.stderr
    assert warnings(tmp_path / "r.duckdb") == {
        "no_ops": "No GPU op is on record: the program used no GPU, or its GPU process was started without our "
        "variables (sudo, env -i, a container)."
    }
    assert "tracing_inflation" not in manifest(tmp_path / "r.duckdb")
