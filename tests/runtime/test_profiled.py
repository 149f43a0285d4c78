"""`--profile FILE`: a torch.profiler trace of the counted steps, whole or not at all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from stepprof.profiler.marks import SWITCH, forget_choice
from stepprof.runtime.__main__ import main
from stepprof.runtime.errors import RuntimeFault
from stepprof.runtime.profiled import Profiled

RUN = ("run", "--device", "cpu", "--layers", "1", "--k", "1")


@pytest.fixture
def marks(monkeypatch):
    """Marks as ranges of torch.profiler."""
    monkeypatch.setenv(SWITCH, "torch")
    forget_choice()
    yield
    forget_choice()


def test_the_counted_steps_and_their_marks_are_on_record(tmp_path: Path, monkeypatch, capsys, marks):
    path = tmp_path / "t.json"
    monkeypatch.setattr(sys, "argv", ["runtime", *RUN, "--steps", "2", "--warm-up", "1", "--profile", str(path)])
    assert main() == 0
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert [name for name in names if name.startswith("step/")] == ["step/1", "step/2"]
    assert "layer/0/attention" in names and any(event.get("cat") == "cpu_op" for event in events)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_told_before_the_steps():
    with (
        pytest.raises(RuntimeFault, match=r"t.json cannot be written .*: check --profile"),
        Profiled(Path("/nowhere/t.json")),
    ):
        raise AssertionError("the steps ran")


def test_a_trace_that_does_not_fit_is_told_and_leaves_nothing(tmp_path: Path):
    words = [sys.executable, "-m", "stepprof.runtime", *RUN, "--steps", "1", "--profile", "t.json"]
    limited = ["bash", "-c", 'ulimit -f 50; exec "$@"', "sh", *words]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "t.json took no more of the trace: free space, or count fewer --steps." in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_no_step_was_counted_or_a_step_failed(tmp_path: Path):
    with Profiled(tmp_path / "none.json"):
        pass
    with pytest.raises(RuntimeFault), Profiled(tmp_path / "failed.json") as profile:
        profile.start()
        raise RuntimeFault("a card has stalled.")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_the_steps_so_far(tmp_path: Path):
    path = tmp_path / "t.json"
    with pytest.raises(KeyboardInterrupt), Profiled(path) as profile:
        profile.start()
        torch.ones(3).sum()
        raise KeyboardInterrupt
    assert "aten::sum" in {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert list(tmp_path.iterdir()) == [path]
