"""compare and gate as a user or a script meets them: documents, exit codes, sentences, 80 columns."""

import json
import sys
from pathlib import Path

import pytest

from stepprof.profiler.commands.compare import spelled
from stepprof.profiler.demo import TRACE
from tests.analyses.gates.gates import document
from tests.profiler.conftest import answer


def files(folder: Path, **steps: float) -> None:
    for name, step_ms in steps.items():
        (folder / f"{name}.json").write_text(json.dumps(document(step_ms)))


def gate_file(folder: Path, a: float, b: float, *more: str) -> None:
    """A gate whose programs print a document with these steps, a thousandth more at each launch."""
    count = "n = len(list(__import__('pathlib').Path('gates/g').glob('*'))); "
    programs = [
        f"{count}import json; d = {document(step)!r}; d['classes'][0]['step_ms'] = [{step} + n / 1000] * 3; print(json.dumps(d))"
        for step in (a, b)
    ]
    commands = [json.dumps([sys.executable, "-c", program]) for program in programs]
    lines = ['name = "g"', 'metric = "step_ms"', "bar = -0.1", "launches = 2", 'instrument = "none"', *more]
    lines += [
        'differs = ["command"]',
        "[control]",
        f"command = {commands[0]}",
        "[candidate]",
        f"command = {commands[1]}",
    ]
    (folder / "g.toml").write_text("\n".join(lines))


# --- compare --------------------------------------------------------------------------------


def test_several_files_after_vs():
    assert spelled(["compare", "a", "b", "--vs", "c", "d", "--json"]) == [
        "compare", "a", "b", "--vs", "c", "--vs", "d", "--json"
    ]  # fmt: skip
    assert spelled(["compare", "a", "--vs", "c", "--vs", "d"]) == ["compare", "a", "--vs", "c", "--vs", "d"]
    assert spelled(["steps", "--vs", "c", "d"]) == ["steps", "--vs", "c", "d"]


def test_compare_documents(tmp_path, stepprof):
    files(tmp_path, a1=10.0, a2=10.1, b1=9.0, b2=9.1)
    done = stepprof("compare", "a1.json", "a2.json", "--vs", "b1.json", "b2.json", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = answer(done)
    assert (found["outcome"], found["kind"], found["unit"]) == ("lower", "measured", "ms")
    assert found["estimate"] == pytest.approx(-1) and found["relative"] == pytest.approx(-1 / 10.05)
    assert found["delta"]["low"] < -1 < found["delta"]["high"] < 0
    assert [launch["median"] for launch in found["candidate"]["launches"]] == [9.0, 9.1]
    assert (found["ops"], found["rows"], found["wall"]) == (None, {}, None)

    shown = stepprof("compare", "a1.json", "a2.json", "--vs", "b1.json", "b2.json")
    assert "the candidate's step is shorter" in shown.stdout
    assert max(len(line) for line in shown.stdout.splitlines() if not line.startswith("warning")) <= 80


def test_compare_one_launch_an_arm_shows_figures_and_refuses(tmp_path, stepprof):
    files(tmp_path, a1=10.0, b1=9.0)
    done = stepprof("compare", "a1.json", "--vs", "b1.json", "--json")
    assert done.returncode == 4 and "add launches to each arm" in done.stderr
    assert (answer(done)["outcome"], answer(done)["delta"]) == ("refused", None)


def test_compare_traces(tmp_path, stepprof):
    """A trace beside its renamed copy: the same steps, so every row and op is 0."""
    (tmp_path / "a.sqlite.gz").write_bytes(TRACE.read_bytes())
    done = stepprof("compare", TRACE, "--vs", "a.sqlite.gz", "--json")
    assert done.returncode == 4, done.stderr
    found = answer(done)
    assert found["wall"]["delta_ns"] == 0 and found["wall"]["control_ns"] == 70_384_362 / 8
    assert set(found["rows"]) == {"role", "kind", "layer", "gap"}
    assert all(row["delta_ns"] == 0 for rows in found["rows"].values() for row in rows)
    assert found["ops"]["by"] == "label" and len(found["ops"]["aligned"]) == 1378
    assert found["ops"]["appeared"] == found["ops"]["vanished"] == []
    shown = stepprof("compare", TRACE, "--vs", "a.sqlite.gz").stdout
    assert max(len(line) for line in shown.splitlines() if not line.startswith("warning")) <= 80
    assert sum(row["control_ns"] for row in found["rows"]["role"] + found["rows"]["gap"]) == pytest.approx(
        70_384_362 / 8
    )


def test_compare_refuses_a_file_twice_and_mixed_kinds(tmp_path, stepprof):
    files(tmp_path, a1=10.0, b1=9.0)
    done = stepprof("compare", "a1.json", "a1.json", "--vs", "b1.json")
    assert done.returncode == 2 and "a1.json is given twice" in done.stderr
    done = stepprof("compare", "a1.json", "--vs", TRACE)
    assert done.returncode == 1 and "launches of different kinds cannot be compared" in done.stderr


# --- gate -----------------------------------------------------------------------------------


def test_a_gate_from_beginning_to_end(tmp_path, stepprof):
    gate_file(tmp_path, 10.0, 9.0, 'cost = "20 min"', "predicted = { value = -0.9, source = 'what-if' }")
    done = stepprof("gate", "register", "g.toml")
    assert done.returncode == 0 and "keep this hash" in done.stdout
    head = done.stdout.split("ledger head ")[1].split()[0]

    done = stepprof("gate", "run", "g")
    assert done.returncode == 0, done.stderr
    assert "g: 4 of 4 launches" in done.stdout and "next: stepprof gate verdict g" in done.stdout

    done = stepprof("gate", "verdict", "g", "--head", head, "--receipt", "r.md", "--json")
    assert done.returncode == 0, done.stderr
    found = answer(done)
    assert (found["verdict"], found["met"], found["look"]) == ("PASS_CI", True, 1)
    assert found["combined"]["delta"]["estimate"] == pytest.approx(-1, abs=0.01)
    assert [launch["arm"] for launch in found["launches"]] == ["A", "B", "B", "A"]
    assert found["settings"][0]["setting"] == "command" and found["head"] != head

    text = (tmp_path / "r.md").read_text()
    assert text.count("\n") == 1 and text.startswith("**g: PASS_CI**, rule ci met: the registered rule is met.")
    assert f"Registered {found['registered']}" in text and "4 launches in order ABBA" in text

    shown = stepprof("gate", "verdict", "g").stdout
    assert "g: PASS_CI, rule ci met" in shown
    assert max(map(len, (shown + stepprof("gate", "list").stdout).splitlines())) <= 80
    rungs = answer(stepprof("gate", "list", "--json"))["gates"]
    assert [(rung["verdict"], rung["met"], rung["predicted"], rung["cost"]) for rung in rungs] == [
        ("PASS_CI", True, -0.9, "20 min")
    ]
    assert "PASS_CI, met" in stepprof("gate", "list").stdout


def test_a_gate_of_a_with_a_leaves_with_3(tmp_path, stepprof):
    """Its check is run as a command, and fails too."""
    gate_file(tmp_path, 10.0, 10.0, f'checks = [["{sys.executable}", "-c", "raise SystemExit(1)"]]')
    stepprof("gate", "register", "g.toml")
    stepprof("gate", "run", "g")
    done = stepprof("gate", "verdict", "g", "--json")
    assert done.returncode == 3 and answer(done)["verdict"] == "FAIL"
    assert [one["passed"] for one in answer(done)["conditions"]] == [False]


def test_a_program_that_crashes(tmp_path, stepprof):
    gate_file(tmp_path, 10.0, 9.0)
    text = (tmp_path / "g.toml").read_text()
    (tmp_path / "g.toml").write_text(text.replace("import json; d", "raise SystemExit('no card'); d"))
    stepprof("gate", "register", "g.toml")
    done = stepprof("gate", "run", "g")
    assert done.returncode == 4
    assert "it said last: no card" in done.stderr and "crashed 2 times, 1 re-runs were registered" in done.stderr


def test_sentences(tmp_path, stepprof):
    done = stepprof("gate", "verdict", "g")
    assert (done.returncode, done.stdout) == (1, "") and "register a gate first" in done.stderr
    gate_file(tmp_path, 10.0, 9.0)
    stepprof("gate", "register", "g.toml")
    assert stepprof("gate", "verdict", "h").returncode == 2
    assert stepprof("gate", "register", "g.toml").returncode == 2
    done = stepprof("gate", "list", "--head", "ab" * 32)
    assert done.returncode == 4 and "entries were changed or cut off" in done.stderr
    done = stepprof("gate", "verdict", "g", "--json")
    assert done.returncode == 3 and answer(done)["verdict"] == "NO_DATA"
