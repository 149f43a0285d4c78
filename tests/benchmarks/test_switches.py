"""benchmarks/switches.py: every variant is one that the runtime takes, and a launch on the CPU gives a receipt."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepprof.runtime import arguments
from stepprof.runtime.__main__ import parser
from stepprof.runtime.config import FLASH, MINI, PRESETS, TINY
from tests.repository import ROOT

SCRIPT = ROOT / "benchmarks" / "switches.py"


@pytest.fixture(scope="module")
def switches() -> Any:
    return importlib.import_module("switches")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_runtime_takes_every_variant(switches: Any, preset: str):
    launch = switches.Launcher(preset, 3, ("cpu", "cpu"))
    for name, words in switches.variants(PRESETS[preset]).items():
        given = parser().parse_args(launch.command(words)[3:])
        config, options = arguments.config_of(given), arguments.options_of(given)
        options.check(config)
        assert name == "control" or words


def test_controls_are_spread_over_a_round(switches: Any):
    names = ["control", "a", "b", "c", "d", "e", "f"]
    assert switches.with_controls(names, 1) == names
    assert switches.with_controls(names, 3) == ["control", "a", "b", "control", "c", "d", "control", "e", "f"]
    assert switches.with_controls(["control"], 1) == ["control"]


def test_a_second_call_adds_its_launches(switches: Any):
    figures = [{"control": [1.0, 3.0], "a": [1.0, "no GPU"]}, {"control": [2.0], "b": [4.0]}]
    head = {"gpu": "H200", "switches": {}}
    first, second = ({**head, "command": f"c{i}", "rows": switches.table(f)} for i, f in enumerate(figures))
    both = switches.continued(first, second)
    rows = {row["variant"]: row for row in both["rows"]}
    assert both["command"] == ["c0", "c1"]
    assert rows["control"]["launches_ms"] == [1, 3, 2] and rows["control"]["control_spread_ms"] == 2
    assert (rows["a"]["faults"], rows["a"]["delta_ms"], rows["b"]["delta_ms"]) == (["no GPU"], -1, 2)
    assert switches.changed(first, second, ["gpu"]) == ""
    assert switches.changed(first, second | {"gpu": "H100"}, ["gpu"]) == "gpu is H100 now and was H200"


def test_counts_are_those_of_the_preset(switches: Any):
    def words(config: Any, name: str) -> str:
        return switches.variants(config)[name][-1]

    names = ("sidecar off", "half of cold experts moved", "layers fewer")
    assert [words(MINI, name) for name in names] == ["64", "56", "8"]
    assert [words(FLASH, name) for name in names] == ["384", "339", "32"]
    assert [words(TINY, name) for name in names] == ["8", "7", "3"]


def test_variants_beside_the_control_on_one_device(tmp_path: Path):
    words = ["--preset", "tiny", "--steps", "2", "--rounds", "1", "--devices", "cpu,cpu"]
    words += ["--variants", "sidecar off,layers fewer", "--receipt", str(tmp_path / "receipt.json")]
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "receipt.json").read_text())
    assert [row["variant"] for row in document["rows"]] == ["control", "sidecar off", "layers fewer"]
    assert all(row["faults"] == [] and len(row["launches_ms"]) == 1 for row in document["rows"])
    assert document["note"] == "both cards are cpu: the sidecar's work is not hidden."
    assert document["switches"]["sidecar off"] == "--sidecar-mode off --hot-experts 8"


def test_a_variant_that_fails_keeps_its_sentence(switches: Any):
    figures = {"control": [2.0, 4.0, 3.0], "a": [5.0, "the second card is gone"], "b": ["no"]}
    control, a, b = switches.table(figures)
    assert (control["median_ms"], control["control_spread_ms"]) == (3.0, 2.0)
    assert (a["launches_ms"], a["faults"], a["delta_ms"]) == ([5.0], ["the second card is gone"], 2.0)
    assert b == {"variant": "b", "launches_ms": [], "faults": ["no"]}


def test_a_variant_that_does_not_exist(
    switches: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["switches.py", "--variants", "k 9"])
    with pytest.raises(SystemExit) as left:
        switches.main()
    out, err = capsys.readouterr()
    assert (left.value.code, out) == (2, "")
    assert "no variant 'k 9'; there are control, share-topk" in err
