"""DRAM bytes by an analyser that is not here: fakes of ncu and of nsight-python, and what is said without them."""

import json
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from stepprof.kernels.bench import dram
from stepprof.kernels.bench.case import Call
from stepprof.kernels.bench.dram import Dram, dram_bytes
from stepprof.kernels.bench.dram_calls import Named, by_nsight
from stepprof.kernels.bench.ncu_table import METRICS, bytes_of_table, range_of
from stepprof.kernels.bench.run import _costs, _dram
from stepprof.profiler.ingest.facts import load_costs
from tests.trace_builder import TraceBuilder

HEAD = '"ID","Process ID","Kernel Name","Stream","dram__bytes_read.sum","dram__bytes_write.sum"'


def table(*rows: str, units: str = '"byte","byte"') -> str:
    return "\n".join(["==PROF== Connected to process 7", HEAD, f'"","","","",{units}', *rows, ""])


RANGED = table(
    '"0","7","dram:1:mhc.pre","7","10,240","32"',
    '"1","7","dram:1:mhc.pre","7","1,000","0"',
    '"2","7","dram:6:mhc.pre","7","64","0"',
    '"3","7","fill_kernel","7","999","999"',
)


def test_the_kernels_of_an_op_are_summed():
    assert bytes_of_table(RANGED) == {(1, "mhc.pre"): (11_240, 32), (6, "mhc.pre"): (64, 0)}


def test_the_range_is_found_in_whatever_column_it_stands():
    head = HEAD.replace('"Stream"', '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"')
    text = f'{head}\n"","","","","byte","byte"\n"0","7","k","""<default domain>:dram:2:rope.rope:none""","5","6"\n'
    assert bytes_of_table(text) == {(2, "rope.rope"): (5, 6)}


def test_units_are_taken_from_their_line():
    text = table('"0","7","dram:1:a.b","7","1.5","2"', units='"Kbyte","Mbyte"')
    assert bytes_of_table(text) == {(1, "a.b"): (1_500, 2_000_000)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==ERROR== ERR_NVGPUCTRPERM",
        HEAD,
        table('"0","7","dram:1:a.b","7","n/a","32"'),
        table('"0","7","dram:1:a.b","7","5"'),
        table('"0","7","dram:1:a.b","7","5","6"', units='"%","%"'),
    ],
    ids=["nothing", "error", "heads only", "not read", "cut off", "no bytes"],
)
def test_a_table_without_counters_is_none(text: str):
    assert bytes_of_table(text) == {}


@pytest.fixture
def fake_ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put an `ncu` on PATH that runs these lines of shell; $LOG is its log file, $LAST the last word of its command."""

    def make(script: str) -> None:
        file = tmp_path / "bin" / "ncu"
        file.parent.mkdir(exist_ok=True)
        log = 'for a; do [ "$p" = --log-file ] && LOG=$a; p=$a; LAST=$a; done; ALL="$*"'
        file.write_text(f"#!/bin/sh\n{log}\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")

    return make


def without_nsight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dram.importlib.util, "find_spec", lambda name: None)


def test_ncu_alone_measures_all_ops_in_one_start(fake_ncu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    without_nsight(monkeypatch)
    (tmp_path / "table").write_text(RANGED)
    fake_ncu(f'cp {tmp_path}/table "$LOG"; echo "$ALL" >> {tmp_path}/calls')
    found = dram_bytes("flash", (1, 6), ("mhc", "rope"))
    assert found.bytes == {(1, "mhc.pre"): (11_240, 32), (6, "mhc.pre"): (64, 0)}
    assert found.source == "ncu"
    assert "nsight-python: not installed" in found.note and "\n" not in found.note
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert f"--metrics {','.join(METRICS)}" in call
    assert call.endswith("-m stepprof.kernels.bench.dram_calls --preset flash --rows 1,6 --ops mhc,rope")


def test_counters_that_may_not_be_read_leave_the_bytes_counted(fake_ncu: Any, monkeypatch: pytest.MonkeyPatch):
    without_nsight(monkeypatch)
    fake_ncu('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" > "$LOG"; exit 1')
    found = dram_bytes("mini", (1,))
    assert (found.source, found.bytes) == ("counted", {})
    assert "ncu: it read no counters (==ERROR== ERR_NVGPUCTRPERM - The user does not have permission)" in found.note


def test_one_that_hangs_is_ended_with_what_it_started(fake_ncu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(dram, "LIMIT_S", 0.5)
    fake_ncu(f"sleep 60 & echo $! > {tmp_path}/child; wait")
    found = dram_bytes("mini", (1,), how="ncu")
    assert found == Dram("counted", {}, "DRAM bytes are counted from the shapes (ncu: it took more than 0.5 s).")
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    assert not child.exists() or child.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_without_ncu_or_when_told_so_bytes_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    assert dram_bytes("mini", (1,)).note == "DRAM bytes are counted from the shapes: ncu is not on PATH."
    assert dram_bytes("mini", (1,), how="off").note == "DRAM bytes are counted from the shapes (--dram off)."


NSIGHT = """
import pandas as pd
from types import SimpleNamespace
def kernel(**asked):
    assert asked["metrics"] == {metrics} and asked["configs"] == [(0,)]
    rows = [("dram:1:swiglu.swiglu", m, v, "byte") for m, v in zip(asked["metrics"], (512.0, 64.0))]
    table = pd.DataFrame(rows, columns=["Annotation", "Metric", "AvgValue", "Unit"])
    return lambda function: lambda: SimpleNamespace(to_dataframe=lambda: table)
analyze = SimpleNamespace(kernel=kernel)
"""


def test_nsight_python_comes_first(fake_ncu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Its own process imports a package of that name."""
    fake_ncu("exit 1")
    (tmp_path / "nsight.py").write_text(NSIGHT.replace("{metrics}", repr(list(METRICS))))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    found = dram_bytes("mini", (1,), ("swiglu",))
    assert (found.source, found.bytes) == ("nsight-python", {(1, "swiglu.swiglu"): (512, 64)}), found.note


def test_nsight_python_that_fails_gives_way_to_ncu(fake_ncu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "nsight.py").write_text('raise RuntimeError("ncu 2026.2 or later is required")\n')
    (tmp_path / "table").write_text(RANGED)
    fake_ncu(f'cp {tmp_path}/table "$LOG"')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    found = dram_bytes("mini", (1,))
    assert found.source == "ncu"
    assert "nsight-python: it ended without counters (RuntimeError: ncu 2026.2 or later is required)" in found.note


def test_one_annotation_an_op_around_its_call_alone():
    """What nsight-python would run: inputs made and kernels compiled outside of the annotation."""
    done: list[str] = []

    def annotate(name: str) -> Any:
        done.append(f"begin {name}")
        return nullcontext()

    def kernel(**asked: Any) -> Any:
        def decorate(function: Any) -> Any:
            def called() -> Any:
                function(*asked["configs"][0])
                rows = [(range_of(1, "a.b"), metric, 3, "byte") for metric in METRICS]
                rows += [(range_of(2, "c.d"), METRICS[0], float("nan"), "byte")]
                frame = pd.DataFrame(rows, columns=["Annotation", "Metric", "AvgValue", "Unit"])
                return SimpleNamespace(to_dataframe=lambda: frame)

            return called

        return decorate

    def make(i: int) -> Call:
        done.append(f"make {i}")
        return Call(lambda **_: done.append(f"call {i}"), (), 0)

    nsight = SimpleNamespace(annotate=annotate, analyze=SimpleNamespace(kernel=kernel))
    lines = by_nsight(nsight, lambda: [Named(1, "a.b", make), Named(2, "c.d", make)])
    assert lines == [{"rows": 1, "op": "a.b", "read": 3, "written": 3}]
    once = ["make 0", "call 0", "make 1"]
    assert done == [*once, "begin dram:1:a.b", "call 1", *once, "begin dram:2:c.d", "call 1"]


def test_costs_say_for_each_op_who_counted(tmp_path: Path):
    figures = {"rows": 1, "bytes_read": 100, "bytes_written": 10, "flops": 7}
    results: list[Any] = [figures | {"op": op, "kernel": f"{op}_kernel"} for op in ("a.b", "c.d")]
    for one in results:
        one["dram"] = _dram(one, Dram("ncu", {(1, "a.b"): (90, 0)}, ""))
    file = tmp_path / "costs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in _costs(results, 1)))
    load_costs(file, store := TraceBuilder().store())
    assert store.rows("SELECT label, bytes_read, bytes_written, flops, source FROM op_cost ORDER BY label") == [
        ("a.b_kernel", 90, 0, 7, "measured"),
        ("c.d_kernel", 100, 10, 7, "counted"),
    ]
