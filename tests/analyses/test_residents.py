"""A kernel that never leaves its card: set apart, counted, and the steps around it add up without it."""

from pathlib import Path

import pytest

from stepprof.analyses.attribution import Question, attribute
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.ops import load_ops
from stepprof.profiler.errors import Refused
from tests.analyses.accounts import account, exposed, find, gaps, on_path
from tests.repository import ROOT
from tests.trace_builder import TraceBuilder

NAME = "resident_sidecar_kernel"


def served(resident: bool = True, marks: bool = True, steps: int = 3) -> TraceBuilder:
    """Steps of 100 ns: a gemm of 30, a wait of 20 for the sidecar, a norm of 10; the sidecar's kernel spans them all."""
    t = TraceBuilder()
    if resident:
        t.kernel(NAME, 5, 100 * steps + 90, device=1, stream=9, call=(2, 4))
    for step in range(steps):
        at = 100 * (step + 1)
        if marks:
            t.range(f"step/{step}", at, at + 90)
        g = t.graph_launch(call=(at + 2, at + 8))
        g.kernel("gemm", at + 10, at + 40, node=1)
        g.kernel("wait_flag_kernel", at + 42, at + 62, node=2)
        g.kernel("rms_norm_kernel", at + 65, at + 75, node=3)
        t.api("cudaStreamSynchronize", at + 8, at + 80)
    return t.edge(1, 2).edge(2, 3)


def test_the_kernel_that_runs_the_sidecar_is_matched():
    source = (ROOT / "kernels" / "resident" / "kernel.cu").read_text()
    assert f"__global__ void {NAME}(" in source
    assert f'"{NAME}"' in (ROOT / "kernels" / "resident" / "kernel.py").read_text()
    store = (
        TraceBuilder().kernel(NAME, 0, 9).kernel(f"{NAME}(long long const*)", 0, 9).kernel("x_" + NAME, 0, 9).store()
    )
    assert load_ops(store).residents.op_id.tolist() == [0, 1]


def test_a_resident_op_is_in_no_array_of_the_ops():
    ops = load_ops(served().store())
    assert len(ops) == 9 and set(ops.names) == {"gemm", "wait_flag_kernel", "rms_norm_kernel"}
    assert set(ops.device.tolist()) == {0} and len(ops.launches.graph) == 3
    assert (ops.residents.start.tolist(), ops.residents.end.tolist()) == ([5], [390])
    assert (ops.residents.device.tolist(), ops.residents.names, ops.sidecar_known) == ([1], [NAME], True)


def test_steps_add_up_as_if_it_were_not_there():
    found, bare = account(served()), account(served(resident=False))
    assert found.steps.wall.tolist() == bare.steps.wall.tolist() == [90, 90, 90]
    assert exposed(found) == exposed(bare) == {"gemm": 90, "rms_norm_kernel": 30, "wait_flag_kernel": 0}
    assert on_path(found, 1) == [("gemm", 210, 240), ("rms_norm_kernel", 265, 275)]


def test_the_wait_of_the_main_card_is_a_wait_for_the_sidecar():
    inside = [("in_graph", 140, 142), ("sidecar_wait", 142, 162), ("in_graph", 162, 165)]
    assert gaps(account(served())) == [("host", 100, 102), ("launch", 102, 110), *inside, ("sync", 175, 190)]


def test_without_its_record_only_its_calls_tell_of_another_card():
    """As in a recording of some steps, which begins after the kernel was launched."""
    t = served(resident=False)
    assert ("wait", 142, 162) in gaps(account(t))
    found = account(t.add("resident_call", round=1, layer=0, seen_ns=110, answered_ns=160))
    assert ("sidecar_wait", 142, 162) in gaps(found)
    assert found.warnings == []


def test_no_figure_of_a_breakdown_holds_it():
    found = breakdown(account(served()), by="kernel")
    assert [(row.key, row.exposed_total_ns, row.work_ns, row.busy_ns) for row in found.rows] == [
        ("gemm", 90, 30, 30),
        ("rms_norm_kernel", 30, 10, 10),
    ]
    assert [(d.device, d.busy_ns, d.work_ns) for d in found.devices] == [(0, 40, 40)]
    assert (found.totals, found.second_card_ns) == ({"wall_ns": 270, "exposed_ns": 120, "gap_ns": 150}, 20)


@pytest.mark.parametrize("marks", [True, False])
def test_windows_and_periods_do_not_reach_to_its_end(marks: bool):
    steps = find(served(marks=marks, steps=6))
    assert set(steps.windows.gpu_end.tolist()) == {100 * n + 75 for n in range(1, 7)}
    assert steps.method == ("marker stepprof" if marks else "launches")
    assert [flags for flags in steps.flags if flags] == []


def test_one_launched_in_a_step_ends_no_window_and_is_not_clipped():
    """As when a pass of another size starts it anew."""
    t = served(resident=False).kernel(NAME, 215, 900, device=1, stream=9, call=(203, 204))
    found = account(t)
    assert found.steps.windows.end.tolist() == [190, 290, 390]
    assert found.steps.windows.ops.tolist() == [3, 3, 3]
    assert [w["code"] for w in found.warnings] == ["resident"]


def test_it_is_counted_with_where_its_calls_are():
    (warning,) = account(served()).warnings
    assert (warning["code"], warning["count"]) == ("resident", 1)
    assert f"1 ops are resident ({NAME}; the longest took 0.000 ms)" in warning["text"]
    assert "import --resident FILE" in warning["text"]
    t = served().add("resident_call", round=1, layer=0, rows=2, seen_ns=110, answered_ns=150)
    (warning,) = account(t).warnings
    assert "their 1 calls are in table resident_call" in warning["text"]
    assert account(served(resident=False)).warnings == []


def test_calls_outside_its_records_tell_that_the_clocks_differ():
    t = served().add("resident_call", round=1, layer=0, seen_ns=5, answered_ns=390)
    assert [w["code"] for w in account(t).warnings] == ["resident"]
    t.add("resident_call", round=1, layer=1, seen_ns=3, answered_ns=9)
    t.add("resident_call", round=1, layer=2, seen_ns=9, answered_ns=395)
    warning = account(t).warnings[1]
    assert (warning["code"], warning["count"]) == ("resident_clock", 2)
    assert "up to 0.005 µs outside the records" in warning["text"]


def test_a_users_rule_names_further_kernels(tmp_path: Path):
    rules = tmp_path / "mine.toml"
    rules.write_text("[[resident]]\npattern = '^gemm$'\n")
    found = attribute(served().store(), Question(rules=rules))
    assert sorted(found.ops.residents.names) == ["gemm", "gemm", "gemm", NAME]
    assert set(found.ops.names) == {"wait_flag_kernel", "rms_norm_kernel"}


def test_a_copy_is_never_resident(tmp_path: Path):
    rules = tmp_path / "mine.toml"
    rules.write_text("[[resident]]\npattern = 'CUDA'\n")
    found = attribute(served().memcpy("Host-to-Device", 176, 178, call=(109, 110)).store(), Question(rules=rules))
    assert found.ops.residents.names == [NAME]


def test_nothing_but_resident_ops_makes_no_step():
    with pytest.raises(Refused, match="no steps found"):
        account(TraceBuilder().range("step/0", 0, 9).kernel(NAME, 5, 8, call=(2, 4)))
