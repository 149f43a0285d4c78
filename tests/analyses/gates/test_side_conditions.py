"""What a gate must not break: throughput by cell, equal output, flips, commands that must pass."""

import json
import os
import random
from pathlib import Path

import pytest

from stepprof.analyses.compare.compared_outputs import compared_outputs
from stepprof.profiler.errors import InputError, Refused
from stepprof.profiler.report.document import plain_document
from tests.analyses.gates.gates import Gate, document

SHORTER = {"A": [10.0, 10.1], "B": [9.0, 9.1]}


def test_throughput_of_every_cell(tmp_path):
    """Code loses 10 % of 100 where 2 % are allowed; prose gains."""
    gate = Gate(tmp_path).register(max_regression=2.0)
    gate.run(
        A=[document(10.0, {"code": 100.0 + n, "prose": 50.0 + n}) for n in (0, 1)],
        B=[document(9.0, {"code": 90.0 + n, "prose": 60.0 + n}) for n in (0, 1)],
    )
    answer = gate.verdict()
    assert (answer.verdict, answer.met) == ("PASS_CI", False)
    assert {cell.cell: cell.state for cell in answer.cells} == {"code@1": "regressed", "prose@1": "ok"}
    assert answer.reason == "max_regression: throughput fell in code@1 (Holm over 2 cells)"


def test_a_cell_without_data_is_no_pass(tmp_path):
    gate = Gate(tmp_path).register(max_regression={"code@1": 2.0, "shell@1": 2.0})
    gate.run(**SHORTER)
    answer = gate.verdict()
    assert not answer.met and answer.reason == "max_regression: no throughput on record for shell@1"


def test_bit_identical_output(tmp_path):
    other = document(9.1)
    other["classes"][0]["tokens"] = [[1, 2, 4]]
    gate = Gate(tmp_path).register(equality="bit-identical")
    gate.run(A=[10.0, 10.1], B=[9.0, other])
    assert gate.verdict().reason == "equality: the candidate's tokens differ"

    same = Gate(tmp_path / "same").register(equality="bit-identical")
    same.run(**SHORTER)
    assert same.verdict().met


def outputs(folder: Path, name: str, flips: int) -> Path:
    """1,000 prompts of 100 tokens each; in the first `flips` of them in a fixed shuffle one token is another."""
    flipped = set(random.Random(name).sample(range(100_000), flips))
    lines = [
        json.dumps(
            {"prompt": f"p{p}", "tokens": [2 if 100 * p + i in flipped else 1 for i in range(100)], "forced": True}
        )
        for p in range(1000)
    ]
    (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return folder / f"{name}.jsonl"


@pytest.mark.parametrize(("flips", "met"), [(2176, True), (2600, False)])
def test_flips_against_those_of_the_controls(tmp_path, flips, met):
    """2.176 % against 2.121 % is no regression."""
    gate = Gate(tmp_path).register(equality="flip-rate", outputs="outputs.json")
    gate.run(**SHORTER)
    a, b, c = (outputs(tmp_path, name, count) for name, count in (("a", 0), ("b", flips), ("c", 2121)))
    found = plain_document(compared_outputs(a, b, [c]))
    (gate.path.parent / "outputs.json").write_text(json.dumps(found))
    answer = gate.verdict()
    assert answer.met is met
    assert f"{flips / 1000:.3f} % flips against 2.121 % of the controls" in answer.conditions[0].text


def test_outputs_without_controls_say_nothing(tmp_path):
    gate = Gate(tmp_path).register(equality="flip-rate", outputs="outputs.json")
    gate.run(**SHORTER)
    (gate.path.parent / "outputs.json").write_text('{"test": null, "regression": null}')
    answer = gate.verdict()
    assert not answer.met and answer.conditions[0].passed is None


def test_flips_that_are_missing_old_or_no_json(tmp_path):
    gate = Gate(tmp_path).register(equality="flip-rate", outputs="outputs.json")
    gate.run(**SHORTER)
    assert "cannot be read" in gate.verdict().reason
    path = gate.path.parent / "outputs.json"
    path.write_text("no")
    with pytest.raises(InputError, match="is no JSON document"):
        gate.verdict()
    os.utime(path, (1_700_000_000, 1_700_000_000))
    with pytest.raises(Refused, match=r"outputs.json is older than the registration"):
        gate.verdict()


def test_checks_must_pass(tmp_path):
    gate = Gate(tmp_path).register(checks=["make test", ["pytest", "-q"]])
    gate.run(**SHORTER)
    asked: list[object] = []
    answer = gate.verdict(lambda command: bool(asked.append(command)) or command == "make test")
    assert asked == ["make test", ["pytest", "-q"]]
    assert not answer.met and answer.reason == "check: failed: pytest -q"
    assert gate.verdict().met
