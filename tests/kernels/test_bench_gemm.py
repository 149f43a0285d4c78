"""bench gemm and bench experts on the CPU: budgets apart, results as they come, times in a chain as differences."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from stepprof.kernels.bench import experts, gemm, gemm_tactics
from stepprof.kernels.bench.blocks import OverBudget, Plan, Subject
from stepprof.kernels.bench.experts import Experts, bench_experts
from stepprof.kernels.bench.file import BenchFault, BenchUsage
from stepprof.kernels.bench.gemm import CHAIN, LAYERS, REST, Cell, bench_gemm, timed
from stepprof.kernels.bench.gemm_tactics import Product
from stepprof.kernels.shapes import MINI

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="measured on a GPU where there is one")
SMALL = gemm.Wanted(shapes=((8, 4), (4, 8)), rows=(1, 2), samples=4, blocks=2)


def test_time_in_a_chain_is_what_a_shape_adds():
    """The chain without it takes 80 µs, with it 80 + 8 · 3 µs."""
    cell = Cell("8x4", 1, bytes_read=7)
    for name, mode, us in (("8x4", REST, 80.0), ("8x4", "a", 5.0), (f"8x4 {CHAIN}", "a", 80.0 + 3 * LAYERS)):
        cell.subjects.append(Subject(name, 1, mode, lambda _, us=us: us))
    alone, inside = timed(cell, Plan(2, 3, 0.0, None))
    assert (alone["name"], alone["p50_us"]["value"], alone["in_chain_us"]["value"]) == ("8x4", 5.0, 3.0)
    assert (inside["name"], inside["mode"], inside["p50_us"]["value"], inside["calls"]) == ("8x4 in chain", "a", 3.0, 6)


def test_results_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, seen = tmp_path / "gemm.json", list[tuple[bool, int]]()
    write = gemm.file.write

    def noted(target: Path, document: dict[str, Any]) -> None:
        write(target, document)
        kept = json.loads(target.read_text())
        seen.append((kept["complete"], len(kept["results"])))

    monkeypatch.setattr(gemm.file, "write", noted)
    document = bench_gemm(replace(SMALL, output=path))
    assert seen == [(False, 2), (False, 4), (False, 6), (True, 8)]
    assert {(one["name"], one["rows"], one["mode"]) for one in document["results"]} == {
        (f"{shape}{chain}", rows, "torch") for shape in ("8x4", "4x8") for rows in (1, 2) for chain in ("", " in chain")
    }


def test_tactics_that_do_not_compile_in_time_are_named(monkeypatch: pytest.MonkeyPatch):
    def two(*_: Any) -> list[Product]:
        return [Product(name, torch.nn.functional.linear) for name in ("first", "late")]

    monkeypatch.setattr(gemm, "tactics_of", two)
    plan = bench_gemm(replace(SMALL, compile_budget_s=0.0))["plan"]
    assert plan["left_out"] == [f"{shape}, {rows} rows: late" for rows in (1, 2) for shape in ("8x4", "4x8")]
    assert plan["compiled"] == 4 and plan["timing_s"] > 0


def test_a_timing_phase_that_does_not_fit_is_refused_before_it_starts(tmp_path: Path):
    path = tmp_path / "gemm.json"
    with pytest.raises(OverBudget, match="nothing was timed"):
        bench_gemm(replace(SMALL, samples=10**7, budget_s=0.001, output=path))
    assert not path.exists()


WRONG = [
    (("cutlass",), BenchUsage, "no backend 'cutlass'; there are"),
    ((), BenchUsage, "name some of"),
    (("{plain}", "{plain}"), BenchUsage, "each once"),
    (("triton",), BenchFault, "none of them runs on the CPU, where only {plain} does"),
]


@pytest.mark.parametrize(("backends", "fault", "message"), WRONG)
def test_backends(backends: tuple[str, ...], fault: type[BenchFault], message: str):
    for plain, bench in (("torch", bench_gemm), ("reference", bench_experts)):
        wanted: Any = SMALL if bench is bench_gemm else experts.Wanted("mini", (1,))
        names = tuple(name.format(plain=plain) for name in backends)
        with pytest.raises(fault, match=message.format(plain=plain)) as caught:
            bench(replace(wanted, backends=names))
        assert type(caught.value) is fault


def test_a_bar_needs_a_second_tactic():
    with pytest.raises(BenchUsage, match="--bar needs two tactics to compare, and only one runs here"):
        bench_gemm(replace(SMALL, bar_us=20.0))


def test_what_does_not_run_on_the_cpu_is_told(capsys: pytest.CaptureFixture[str]):
    document = bench_gemm(SMALL)
    assert document["gpu"] == [] and {one["mode"] for one in document["results"]} == {"torch"}
    assert [(one["code"], one["count"], one["text"]) for one in document["warnings"]] == [
        ("cpu", 1, "this is the CPU: its times say nothing about a GPU."),
        ("backend_left_out", 1, "backends left out, as they do not run on the CPU: triton."),
    ]
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [f"warning: {one['text']}" for one in document["warnings"]]
    alone = bench_gemm(replace(SMALL, backends=("torch",)))["warnings"]
    assert [one["code"] for one in alone] == ["cpu"]


def test_cache_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "none"))
    assert gemm_tactics.cache_entries() == 0
    (tmp_path / "none" / "A").mkdir(parents=True)
    assert gemm_tactics.cache_entries() == 1


def test_experts_of_successive_calls_differ():
    """Two rows of two experts: call 0 reads 0 to 3, call 4 wraps around the 15 cold ones of mini."""
    bank = Experts(MINI, torch.device("meta"), torch.float32)
    bank.device = torch.device("cpu")
    assert bank.count == 15
    assert bank.slots(2, 2, 0).tolist() == [[0, 1, -1, -1, -1, -1], [2, 3, -1, -1, -1, -1]]
    assert bank.slots(2, 2, 3).tolist() == [[12, 13, -1, -1, -1, -1], [14, 0, -1, -1, -1, -1]]


def test_bench_experts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(experts, "CALLS", 2)
    path = tmp_path / "experts.json"
    document = bench_experts(experts.Wanted("mini", (1,), samples=2, blocks=2, output=path))
    assert [(one["name"], one["mode"]) for one in document["results"]] == [
        ("up_gate", "reference"),
        ("down", "reference ordered"),
        ("down", "reference atomic"),
        ("experts", "reference ordered"),
        ("experts", "reference atomic"),
    ]
    assert json.loads(path.read_text()) == document
    assert [one["code"] for one in document["warnings"]] == ["cpu", "backend_left_out"]
    with pytest.raises(BenchFault, match="--row-experts 7 must lie between 1 and 6"):
        bench_experts(experts.Wanted("mini", each=7))


def test_all_ways_to_compute_a_call_agree():
    bank = Experts(MINI, torch.device("cpu"), torch.float32)
    torch.manual_seed(0)
    ordered = bank._call("experts", 2, "reference", "ordered", bank.slots(2, 2, 0))  # pyright: ignore[reportPrivateUsage]
    torch.manual_seed(0)
    atomic = bank._call("experts", 2, "reference", "atomic", bank.slots(2, 2, 0))  # pyright: ignore[reportPrivateUsage]
    a, b = ordered(), atomic()
    assert np.allclose(a, b, rtol=1e-4) and float(a.abs().max()) > 0
