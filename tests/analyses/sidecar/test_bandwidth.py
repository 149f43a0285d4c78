"""The sidecar's memory bandwidth: a number, or what a bench measured, and on which card."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepprof.analyses.sidecar.answer import SidecarQuestion
from stepprof.analyses.sidecar.bandwidth import BenchBandwidth, read_bandwidth
from stepprof.analyses.sidecar.floor import Quoted
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.profiler.errors import InputError, UsageError
from tests.analyses.sidecar.sidecar_program import Program
from tests.repository import ROOT

FIGURE = {"value": 2.0, "kind": "measured"}


def bench(path: Path, **keys: Any) -> Path:
    """A bench file of one card named small at 2 GB/s, but for `keys`."""
    path.write_text(
        json.dumps({"bench": "sidecar", "gpu": ["small"], "bandwidth_gb_per_s": FIGURE, "results": []} | keys)
    )
    return path


def answer(path: Path, name: str | None = "small") -> Sidecar:
    """Two rows of 3 bytes on a card whose nominal bandwidth is 1 GB/s; the call takes 23 ns."""
    p = Program()
    p.trace.add("device", device=1, name=name, memory_bandwidth=1_000_000_000)
    p.step(0, 200).call(1, rows=2, fork=10, hot=20)
    return p.sidecar(SidecarQuestion(quoted=Quoted(3, read_bandwidth(str(path)))))


def warned(found: Sidecar) -> list[str]:
    return [one["text"] for one in found.warnings if one["code"] == "bandwidth_elsewhere"]


def test_a_measured_bandwidth_makes_the_floor(tmp_path: Path):
    """6 bytes at 2 bytes a ns."""
    found = answer(bench(tmp_path / "b.json"))
    assert (found.all.floor_us, found.headroom_us) == (pytest.approx(0.003), pytest.approx(0.020))
    assert found.floor_said == (
        "3e-06 MB (quoted) × rows (one expert each, an estimate: rows that share experts read less) ÷ 2 GB/s (measured on small, b.json), modelled"
    )
    assert warned(found) == []


def test_a_bench_on_another_card_is_told(tmp_path: Path):
    found = answer(bench(tmp_path / "b.json", gpu=["big", "big"]))
    assert warned(found) == [
        "b.json was measured on big, but the sidecar of this trace is small: floors and headroom are for another card."
    ]
    assert warned(answer(bench(tmp_path / "b.json", gpu=[])))[0].startswith("b.json was measured on a CPU, but")


def test_cards_that_nobody_names_cannot_be_compared(tmp_path: Path):
    found = answer(bench(tmp_path / "b.json", gpu=None))
    assert warned(found) == [] and "measured on an unnamed machine, b.json" in found.floor_said
    assert warned(answer(bench(tmp_path / "b.json", gpu=["big"]), name=None)) == []


def test_the_receipt_of_a_bench():
    found = read_bandwidth(str(ROOT / "benchmarks/receipts/sidecar_modes_flash.json"))
    assert isinstance(found, BenchBandwidth) and (round(found.gb_per_s), found.kind) == (4079, "measured")


def test_a_number():
    assert read_bandwidth("4800") == 4800.0


@pytest.mark.parametrize("figure", [None, {"value": 0, "kind": "measured"}])
def test_a_file_without_the_figure(figure: Any, tmp_path: Path):
    with pytest.raises(InputError, match=r"b.json holds no bandwidth_gb_per_s: give a file of stepprof bench sidecar"):
        read_bandwidth(str(bench(tmp_path / "b.json", bandwidth_gb_per_s=figure)))


def test_the_bench_of_experts_has_none():
    with pytest.raises(InputError, match="experts_flash.json holds no bandwidth_gb_per_s".replace(".", "[.]")):
        read_bandwidth(str(ROOT / "benchmarks/receipts/experts_flash.json"))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("4.8TB/s", UsageError, "neither a number of GB/s nor a FILE.json of stepprof bench sidecar"),
        ("", UsageError, "neither a number"),
        ("nan", UsageError, "--bandwidth nan is no amount"),
        ("0", UsageError, "--bandwidth 0 is no amount"),
        ("none.json", InputError, "none.json cannot be read"),
    ],
)
def test_what_is_no_bandwidth(text: str, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message):
        read_bandwidth(text)


def test_a_file_of_something_else(tmp_path: Path):
    (tmp_path / "b.json").write_text("[1]")
    with pytest.raises(InputError, match="is no bench file"):
        read_bandwidth(str(tmp_path / "b.json"))
