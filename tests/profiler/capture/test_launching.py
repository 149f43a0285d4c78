"""One launch of a gate: what is kept of a program, by each way of recording."""

import json
import os
import sys

import pytest

from stepprof.analyses.compare.launches import launch_of_store
from stepprof.profiler.capture.launching import Capturing, last_words, launch
from stepprof.profiler.errors import InputError
from stepprof.profiler.store import open_run

SAYS = "import json, os, sys; print('hello'); print(json.dumps({'x': os.environ.get('GATE_X')})); print('odd', file=sys.stderr)"
MARKS = (
    "import nvtx, time\n"
    "for n in range(4):\n"
    "    with nvtx.annotate(f'step/{n}'):\n"
    "        time.sleep(0.002)\n"
    "print('{\"tokens\": 3}')\n"
)


@pytest.fixture
def lock(tmp_path):
    handle = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    yield handle
    os.close(handle)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "000-A.partial"
    path.mkdir()
    return path


def test_a_program_alone(folder, lock, monkeypatch):
    monkeypatch.delenv("GATE_X", raising=False)
    code = launch([sys.executable, "-c", SAYS], {"GATE_X": "1"}, folder, "none", lock, "control", ["GATE_"])
    assert code == 0
    assert (folder / "output.txt").read_text() == 'hello\n{"x": "1"}\n'
    assert json.loads((folder / "output.json").read_text()) == {"x": "1"}  # the last line
    assert last_words(folder) == "odd"
    entries = json.loads((folder / "manifest.json").read_text())
    assert list(json.loads(entries["environment"])) == ["GATE_X"] and entries["arm"] == "control"
    assert "GATE_X" not in os.environ


def test_the_environment_that_is_hashed_is_what_the_program_sees(folder, lock, tmp_path):
    hashes: list[str] = []
    for n, value in enumerate(("1", "2", "1")):
        own = tmp_path / str(n)
        own.mkdir()
        launch([sys.executable, "-c", "pass"], {"GATE_X": value}, own, "none", lock, prefixes=["GATE_X"])
        hashes.append(json.loads((own / "manifest.json").read_text())["environment"])
    assert hashes[0] == hashes[2] != hashes[1]


def test_output_that_is_no_document(folder, lock):
    launch([sys.executable, "-c", "print('[1, 2]')"], {}, folder, "none", lock)
    assert not (folder / "output.json").exists()


def test_exit_codes(folder, lock):
    assert launch([sys.executable, "-c", "raise SystemExit(7)"], {}, folder, "none", lock) == 7
    assert launch([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], {}, folder, "none", lock) == 137


def test_a_program_that_cannot_be_started(folder, lock):
    with pytest.raises(InputError, match=r"no-such-program cannot be started .*: check the command of the gate"):
        launch(["no-such-program"], {}, folder, "none", lock)


def test_the_lock_is_handed_down(folder, lock):
    code = f"import os; os.fstat({lock})"
    assert launch([sys.executable, "-c", code], {}, folder, "none", lock) == 0


def test_marks_alone_through_capture(folder, lock, collector):
    """The whole way: our own command line, the collector, a run file with the program's marks."""
    assert launch([sys.executable, "-c", MARKS], {}, folder, "marks", lock, "control") == 0, last_words(folder)
    assert json.loads((folder / "output.json").read_text()) == {"tokens": 3}
    store = open_run(folder / "run.duckdb")
    try:
        found = launch_of_store(store)
    finally:
        store.close()
    assert (found.kind, len(found.step_ms)) == ("marks", 4)
    assert all(ms >= 2 for ms in found.step_ms)
    assert "command" in found.settings and "arm" not in found.settings


def test_how_capture_is_called(tmp_path):
    traced = Capturing("traced", "control", ("VLLM_",), "^round", True).words(["run", "-x"], tmp_path)
    assert traced[3:] == [
        "capture", "-o", str(tmp_path / "run.duckdb"), "--backend", "auto", "--arm", "control",
        "--env-prefix", "VLLM_", "--marker", "^round", "--", "run", "-x",
    ]  # fmt: skip
    assert "--no-control" in Capturing("traced", "", (), None, False).words(["run"], tmp_path)
    assert "--no-control" in Capturing("marks", "", (), None, True).words(["run"], tmp_path)
