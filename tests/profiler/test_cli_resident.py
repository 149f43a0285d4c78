"""A run of the built-in model with a worker that stays, and a trace of it: calls and steps come together.

The trace is made here, around the times that the run stamped: what a GPU would record of it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepprof.profiler.store import open_run
from tests.trace_builder import NsysExport

STEPS, LEAD = 3, 1_000_000  # ns before the first call


@pytest.fixture(scope="module")
def stamped(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The calls of a run on the CPU."""
    file = tmp_path_factory.mktemp("run") / "resident.jsonl"
    words = ["run", "--preset", "tiny", "--device", "cpu", "--steps", str(STEPS), "--sidecar-mode", "persistent"]
    words += ["--resident", str(file)]
    subprocess.run([sys.executable, "-m", "stepprof.runtime", *words], check=True, capture_output=True, timeout=120)
    return [json.loads(line) for line in file.read_text().splitlines()]


def traced(path: Path, calls: list[dict[str, Any]], with_epoch: bool = True) -> Path:
    """Steps of a gemm, a wait and a norm on card 0, and a kernel that stays on card 1 from before to behind them."""
    zero = calls[0]["seen_ns"] - LEAD
    last = max(call["answered_ns"] for call in calls) - zero
    e = NsysExport()
    if with_epoch:
        e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=zero)
    e.api("cudaLaunchKernel", 10, 20, correlation=1)
    e.kernel("resident_sidecar_kernel", 30, last + LEAD, correlation=1, deviceId=1, contextId=2)
    for step in range(STEPS):
        at, first = 1000 + step * (last // STEPS), 10 * step + 2
        e.range(f"step/{step}", at, at + 900)
        for i, name in enumerate(("gemm", "wait_flag_kernel", "rms_norm_kernel")):
            e.api("cudaLaunchKernel", at + 1 + i, at + 2 + i, correlation=first + i)
            e.kernel(name, at + 100 + 200 * i, at + 300 + 200 * i, correlation=first + i)
    return e.write(path)


def test_calls_and_steps_of_a_resident_run(stepprof, tmp_path: Path, stamped: list[dict[str, Any]]):
    trace, ring = traced(tmp_path / "t.sqlite", stamped), tmp_path / "ring.jsonl"
    ring.write_text("".join(json.dumps(call) + "\n" for call in stamped))
    code, out, err = stepprof("import", trace, "-o", "run.duckdb", "--resident", ring, "--json")
    assert (code, err, json.loads(out)["warnings"]) == (0, "", [])
    rows = open_run(tmp_path / "run.duckdb").rows("SELECT round, layer, seen_ns FROM resident_call ORDER BY seen_ns")
    zero = stamped[0]["seen_ns"] - LEAD
    assert rows == [(call["round"], call["layer"], call["seen_ns"] - zero) for call in stamped]

    found = json.loads(stepprof("breakdown", "run.duckdb", "--by", "kernel", "--json")[1])
    assert {row["key"]: row["exposed_total_ns"] for row in found["rows"]} == {"gemm": 600, "rms_norm_kernel": 600}
    assert [(d["device"], d["work_ns"]) for d in found["devices"]] == [(0, 400)]
    assert {gap["class"]: gap["exposed_total_ns"] for gap in found["gaps"]}["sidecar_wait"] == 600
    (warning,) = found["warnings"]
    assert (warning["code"], warning["count"]) == ("resident", 1)
    assert f"their {len(stamped)} calls are in table resident_call" in warning["text"]


def test_without_the_ring_the_steps_are_the_same_and_the_way_to_it_is_told(stepprof, tmp_path: Path, stamped):
    traced(tmp_path / "t.sqlite", stamped)
    found = json.loads(stepprof("breakdown", "t.sqlite", "--by", "kernel", "--json")[1])
    assert {row["key"]: row["exposed_total_ns"] for row in found["rows"]} == {"gemm": 600, "rms_norm_kernel": 600}
    assert "import --resident FILE" in found["warnings"][0]["text"]
    steps = json.loads(stepprof("steps", "t.sqlite", "--json")[1])
    assert [(step["ops"], step["window"], step["wall_ns"]) for step in steps["steps"]] == [(3, "host", 900)] * STEPS


def test_a_trace_without_an_epoch_is_refused_with_no_run_left(stepprof, tmp_path: Path, stamped: list[dict[str, Any]]):
    trace, ring = traced(tmp_path / "t.sqlite", stamped, with_epoch=False), tmp_path / "ring.jsonl"
    ring.write_text(json.dumps(stamped[0]) + "\n")
    code, out, err = stepprof("import", trace, "-o", "run.duckdb", "--resident", ring)
    assert (code, out, (tmp_path / "run.duckdb").exists()) == (1, "", False)
    assert "t.sqlite does not say what time its clock began at" in err and len(err.strip().splitlines()) == 1
