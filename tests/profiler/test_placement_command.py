"""stepprof placement from end to end: moves, the curve, break-even, the new placement, and faults in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stepprof.analyses.placement.layer_waits import read_waits
from stepprof.profiler.audit_fact import Fact
from stepprof.profiler.cli import app
from stepprof.profiler.errors import InputError, StepprofError, UsageError
from stepprof.profiler.link_speed import link_speed, number_of_bytes

USE = (
    "class,step,layer,expert,rows\n"
    + "".join(f"code,{n},1,{e},1\n" for n in range(4) for e in (5, 7))
    + "code,3,0,6,2\n"
)
SIZES = ["--expert-bytes", "20MB", "--link", "50GB/s"]


@pytest.fixture
def use(tmp_path: Path) -> Path:
    """4 steps: the pair 5, 7 of layer 1 in each, 6 of layer 0 in one."""
    path = tmp_path / "use.csv"
    path.write_text(USE)
    return path


def answer(*words: object) -> tuple[str, BaseException | None]:
    done = CliRunner().invoke(app, ["placement", *map(str, words)])
    return done.stdout, done.exception


def test_moves_and_what_they_save(use: Path, tmp_path: Path):
    """30 µs in every step, 30 in a quarter of them; 2 moves of 40 MB take 800 µs and save 30: 27 steps."""
    hot, new = tmp_path / "hot.json", tmp_path / "new.json"
    hot.write_text(json.dumps({"hot": [[0, 1], [0, 2]]}))
    out, fault = answer(use, *SIZES, "--memory", "50MB", "--wait-us", 30, "--placement", hot, "-o", new, "--json")
    document: dict[str, Any] = json.loads(out)
    assert fault is None and document["chosen"] == [{"layer": 1, "expert": 5}, {"layer": 1, "expert": 7}]
    assert [document[f"{key}_us_per_step"] for key in ("wait", "left", "saved")] == [
        {"value": value, "kind": "modelled"} for value in (37.5, 7.5, 30.0)
    ]
    assert [(point["experts"], point["bytes"]) for point in document["curve"]] == [(0, 0), (2, 40_000_000)]
    assert (document["move"]["time_us"], document["move"]["break_even_steps"]) == (pytest.approx(800), 27)
    assert json.loads(new.read_text()) == {"hot": [[0, 1], [0, 2, 5, 7]]}


def test_the_terminal(use: Path):
    out, _ = answer(use, *SIZES, "--experts", 3, "--wait-us", 30)
    lines = out.splitlines()
    assert lines[0].startswith("join wait 37.5 µs a step today, 0.0 with 3 experts moved (100 % less, modelled)")
    assert "moves by layer  0: 1, 1: 2" in out and "pays after 32 steps" in out and max(map(len, lines)) <= 80


def test_waits_by_layer(use: Path, tmp_path: Path):
    """Layer 0 waits 100 µs in a quarter of the steps, so its one expert is worth more than half the pair."""
    waits = tmp_path / "sidecar.json"
    by_layer = [
        {"layer": 0, "join_wait_us": 90.0},
        {"layer": 0, "join_wait_us": 110.0},
        {"layer": 1, "join_wait_us": 4},
    ]
    waits.write_text(json.dumps({"calls": 3, "by_layer": [*by_layer, {"layer": None, "join_wait_us": 1}]}))
    out, _ = answer(use, *SIZES, "--experts", 1, "--waits", waits, "--json")
    assert json.loads(out)["chosen"] == [{"layer": 0, "expert": 6}]
    waits.write_text("layer,join_wait_us\n0,100\n")
    assert read_waits(waits, 7.0).per_layer == {0: 100.0}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"by_layer": []}', "layer,join_wait_us\n0,-1\n", "layer,wait\n0,1\n", '{"by_layer": 3}']
)
def test_no_waits(text: str, tmp_path: Path):
    path = tmp_path / "waits"
    path.write_text(text)
    with pytest.raises(InputError, match="holds no join waits by layer"):
        read_waits(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*SIZES, "--wait-us", "1"], "--memory or --experts: give one"),
        ([*SIZES, "--experts", "1"], "give --waits FILE or --wait-us N"),
        ([*SIZES, "--experts", "1", "--wait-us", "1", "-o", "x"], "give both"),
        (["--expert-bytes", "no", "--experts", "1", "--wait-us", "1"], "--expert-bytes no: give a size"),
    ],
    ids=str,
)
def test_wrong_usage(words: list[str], message: str, use: Path):
    _, fault = answer(use, *words)
    assert isinstance(fault, UsageError) and message in str(fault)


def test_a_placement_of_another_model(use: Path, tmp_path: Path):
    hot, new = tmp_path / "hot.json", tmp_path / "new.json"
    hot.write_text('{"hot": [[1]]}')
    _, fault = answer(use, *SIZES, "--experts", 2, "--wait-us", 30, "--placement", hot, "-o", new)
    assert isinstance(fault, StepprofError) and "name layer 1, the placement has 1 layers" in str(fault)
    assert not new.exists()


def test_the_link_that_the_audit_sees():
    seen = [Fact("pcie_generation", "1 x16 (possible 5 x16)", "NVML", "", "0")]
    found = link_speed(None, lambda: seen)
    assert (round(found.bytes_per_s / 1e9, 1), found.source) == (63.0, "PCIe 5 x16 of GPU 0, by the audit")
    with pytest.raises(UsageError, match="--link 50GB/s"):
        link_speed(None, list)


@pytest.mark.parametrize(("text", "size"), [("18.8MB", 18.8e6), ("10 gb", 1e10), ("512", 512), ("2k", 2000)])
def test_sizes(text: str, size: float):
    assert number_of_bytes(text, "--memory") == pytest.approx(size)
