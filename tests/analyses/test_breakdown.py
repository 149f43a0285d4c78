"""Where the steps' time goes, by every key, beside sums a reader can check."""

import pytest

from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import BYS, Breakdown, Device, GapRow, KindShare
from stepprof.analyses.mismatches import Mismatch
from stepprof.profiler.errors import Refused
from tests.analyses.accounts import account
from tests.trace_builder import TraceBuilder

GEMM = "nvjet_tst_64x8_64x16"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>(int)"
ADD = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>>(int)"
SPIN = "void spin_wait_kernel(unsigned int volatile*)"


def two_steps() -> TraceBuilder:
    """Steps 0–100 and 100–200, alike but for the last op, of 8 and of 17 ns.

    step 0: host 5 + launch 15 + gemm 30 + copy 20 + queue 2 + mystery 8 + sync 20 = 100
    step 1: the same with mystery 17 + sync 11; a gemm of 10 on stream 8 is hidden in both
    """
    trace = TraceBuilder()
    for step, mystery in enumerate((8, 17)):
        t = 100 * step
        trace.range(f"step/{step}", t, t + 100).range("verify", t + 1, t + 9)
        trace.range("layer/0/attention", t + 4, t + 6).range("layer/1/experts", t + 6, t + 8)
        trace.kernel(GEMM, t + 20, t + 50, call=(t + 5, t + 6)).kernel(COPY, t + 50, t + 70, call=(t + 7, t + 8))
        trace.kernel(GEMM, t + 55, t + 65, call=(t + 10, t + 11), stream=8)
        trace.kernel("mystery", t + 72, t + 72 + mystery, call=(t + 12, t + 13))
    return trace


@pytest.fixture(scope="module")
def two():
    return account(two_steps())


def rows(made: Breakdown) -> dict[str, tuple[float, float, float, float]]:
    """Key -> exposed, busy, work, ops a step."""
    return {row.key: (row.exposed_ns, row.busy_ns, row.work_ns, row.ops) for row in made.rows}


def a_graph(*nodes: tuple[str, int, int, int]) -> TraceBuilder:
    """One step 0–100 with one graph of (name, start, end, device), in a chain unless edges are added."""
    trace = TraceBuilder().range("step/0", 0, 100)
    graph = trace.graph_launch(call=(5, 6))
    for node, (name, start, end, device) in enumerate(nodes, 1):
        graph.kernel(name, start, end, node=node, device=device)
    return trace


# --- rows by every key --------------------------------------------------------------------


def test_by_role(two):
    """Means over two steps, unrounded: the mystery's 8 and 17 make 12.5."""
    assert rows(breakdown(two, "role")) == {
        "attention": (30, 30, 30, 1),
        "expert_gemm": (20, 20, 20, 1),
        "unknown": (12.5, 12.5, 12.5, 1),
        "dense_gemm": (0, 10, 10, 1),
    }


def test_by_kind(two):
    """Both gemms are one row: busy 30 + 10, since the hidden one runs later; exposed 30."""
    assert rows(breakdown(two, "kind")) == {
        "gemm": (30, 40, 40, 2),
        "copy": (20, 20, 20, 1),
        "other": (12.5, 12.5, 12.5, 1),
    }


def test_by_layer(two):
    assert rows(breakdown(two, "layer")) == {
        "0": (30, 30, 30, 1),
        "1": (20, 20, 20, 1),
        "(none)": (12.5, 22.5, 22.5, 2),
    }


def test_by_phase(two):
    assert rows(breakdown(two, "phase")) == {"verify": (50, 50, 50, 2), "(none)": (12.5, 22.5, 22.5, 2)}


def test_by_kernel(two):
    assert rows(breakdown(two, "kernel")) == {
        GEMM: (30, 40, 40, 2),
        COPY: (20, 20, 20, 1),
        "mystery": (12.5, 12.5, 12.5, 1),
    }


def test_by_label(two):
    assert rows(breakdown(two, "label")) == {
        "verify › layer/0/attention": (30, 30, 30, 1),
        "verify › layer/1/experts": (20, 20, 20, 1),
        "(none)": (12.5, 22.5, 22.5, 2),
    }


def test_by_device(two):
    """Busy: 20–70 without a hole, though the hidden gemm overlaps, and the mystery; work is their sum."""
    assert rows(breakdown(two, "device")) == {"0": (62.5, 62.5, 72.5, 4)}


def test_rows_come_by_exposed_time_then_work(two):
    assert [row.key for row in breakdown(two, "role").rows] == ["attention", "expert_gemm", "unknown", "dense_gemm"]


# --- sums -----------------------------------------------------------------------------------


def test_gaps(two):
    """Sync is 20 and 11, so 15.5; shares are of the wall of 200."""
    assert breakdown(two).gaps == [
        GapRow("sync", 15.5, 31, 1, 31 / 200),
        GapRow("launch", 15, 30, 1, 30 / 200),
        GapRow("host", 5, 10, 1, 10 / 200),
        GapRow("launch_queue", 2, 4, 1, 4 / 200),
    ]


@pytest.mark.parametrize("by", BYS)
def test_rows_and_gaps_make_the_wall_whatever_the_key(two, by):
    """2 · 30 + 2 · 20 + 8 + 17 = 125 exposed, 31 + 30 + 10 + 4 = 75 in gaps."""
    made = breakdown(two, by)
    assert made.totals == {"wall_ns": 200, "exposed_ns": 125, "gap_ns": 75}
    assert sum(row.exposed_total_ns for row in made.rows) == 125
    assert sum(row.exposed_total_ns for row in made.gaps) == 75
    assert sum(row.share for row in made.rows) + sum(row.share for row in made.gaps) == pytest.approx(1)
    assert made.gaps == breakdown(two).gaps


def test_hidden_is_work_less_exposed(two):
    hidden = {row.key: row.hidden_ns for row in breakdown(two, "kind").rows}
    assert hidden == {"gemm": 10, "copy": 0, "other": 0}


def test_wall(two):
    made = breakdown(two)
    assert (made.steps, made.wall_ns, made.method) == (2, {"p50": 100, "min": 100, "max": 100}, "marker stepprof")


def test_the_path_says_how_its_links_are_known():
    """a waits for nothing on record; b and c by edges; d, in a second graph, by its stream."""
    trace = a_graph(("a", 20, 30, 0), ("b", 31, 40, 0), ("c", 41, 50, 0))
    trace.graph_launch(call=(7, 8)).kernel("d", 55, 60, node=9)
    made = breakdown(account(trace.edge(1, 2).edge(2, 3)))

    assert made.path == {"recorded": 2 / 3, "ordered": 1 / 3, "inferred": 0}


# --- kinds beneath, and what does not fit --------------------------------------------------


def test_kinds_stand_beneath_a_row(two):
    by_phase = {row.key: row.kinds for row in breakdown(two, "phase").rows}
    assert by_phase["verify"] == [KindShare("gemm", 30, 30, True), KindShare("copy", 20, 20, False)]
    assert by_phase["(none)"] == [KindShare("other", 12.5, 12.5, True), KindShare("gemm", 0, 10, True)]


def test_a_kind_that_does_not_fit_its_role_is_told(two):
    """All 40 ns of work in expert_gemm are copies."""
    assert breakdown(two).mismatches == [Mismatch("expert_gemm", "copy", 40, 1.0, "direct_copy_kernel_cuda")]


# --- busy, work, clipping -------------------------------------------------------------------


def test_busy_is_a_union_on_each_card():
    """Card 0: 20–40 and 30–50 make 30; card 1: 20–40 makes 20; work 20 + 20 + 20."""
    trace = a_graph((GEMM, 20, 40, 0), (GEMM, 30, 50, 0), (GEMM, 20, 40, 1))
    made = breakdown(account(trace), "kernel")

    assert (made.rows[0].busy_ns, made.rows[0].work_ns) == (50, 60)
    assert made.devices == [Device(0, 30, 40), Device(1, 20, 20)]


def test_spin_waits_are_neither_work_nor_busy():
    trace = a_graph(("a", 20, 30, 0), (SPIN, 30, 60, 0), ("b", 60, 70, 0), ("s", 31, 50, 1))
    made = breakdown(account(trace.edge(1, 2).edge(2, 3).edge(1, 4)), "kernel")

    assert rows(made) == {"a": (10, 10, 10, 1), "b": (10, 10, 10, 1), "s": (0, 19, 19, 1)}
    assert made.devices == [Device(0, 20, 20), Device(1, 19, 19)]
    # 5 host + 15 launch + 20 + 30 wait + 30 sync = 100
    assert {gap.class_: gap.exposed_total_ns for gap in made.gaps} == {
        "host": 5,
        "launch": 15,
        "sidecar_wait": 30,
        "sync": 30,
    }


def test_work_and_busy_are_clipped_to_the_window():
    """Step 0's window ends with step 1's first op at 110; 50 of z's 80 lie in it, and nothing of late."""
    trace = TraceBuilder().range("step/0", 0, 100).range("step/1", 100, 200)
    trace.kernel("a", 20, 40, call=(5, 6)).kernel("z", 60, 140, call=(50, 51), stream=8)
    trace.kernel("late", 140, 150, call=(52, 53), stream=8)
    made = breakdown(account(trace.kernel("b", 110, 120, call=(101, 102))), "kernel", [0])

    assert rows(made) == {"a": (20, 20, 20, 1), "z": (50, 50, 50, 1), "late": (0, 0, 0, 1)}


# --- two cards ----------------------------------------------------------------------------


def test_the_second_cards_time_is_its_exposed_ops_and_the_waits_for_it():
    """3 wait + 27 on card 1 + 4 wait; main's 15 are hidden."""
    trace = a_graph(
        ("a", 20, 30, 0), ("in", 33, 40, 1), ("expert", 40, 60, 1), ("main", 30, 45, 0), ("join", 64, 70, 0)
    )
    made = breakdown(account(trace.edge(1, 2).edge(2, 3).edge(1, 4).edge(4, 5).edge(3, 5)), "device")

    assert made.second_card_ns == 3 + 27 + 4
    assert rows(made) == {"0": (16, 31, 31, 3), "1": (27, 27, 27, 2)}


def test_with_one_card_there_is_no_second(two):
    assert breakdown(two).second_card_ns == 0


# --- shares -------------------------------------------------------------------------------


def test_shares_of_ops_and_of_exposed_time(two):
    """2 of 4 ops of a step have a label; 25 of 125 exposed ns have an unknown role."""
    made = breakdown(two)
    assert (made.labelled_share, made.unknown_share, made.low_confidence_share) == (0.5, 0.2, 0)


def test_low_confidence_is_of_exposed_time():
    """An ATen add says only what it does: 10 of 40 exposed."""
    made = breakdown(account(a_graph((GEMM, 20, 50, 0), (ADD, 50, 60, 0))))
    assert made.low_confidence_share == 0.25


# --- which steps ----------------------------------------------------------------------------


@pytest.mark.parametrize(("chosen", "mystery", "sync"), [([0], 8, 20), ([1], 17, 11), ([0, 1], 12.5, 15.5)])
def test_figures_are_over_the_chosen_steps(two, chosen, mystery, sync):
    made = breakdown(two, "kernel", chosen)
    assert made.steps == len(chosen)
    assert rows(made)["mystery"] == (mystery, mystery, mystery, 1)
    assert made.gaps[0].exposed_ns == max(sync, 15)
    assert made.totals["wall_ns"] == 100 * len(chosen)


def test_doubtful_steps_are_left_out_unless_chosen():
    found = account(two_steps().range("step/2", 200, 300))

    assert breakdown(found).steps == 2
    assert [(w["code"], w["count"]) for w in breakdown(found).warnings] == [("steps_left_out", 1)]
    assert breakdown(found, chosen=[0, 1, 2]).steps == 3
    assert breakdown(found, chosen=[0, 1, 2]).warnings == []


def test_a_chosen_step_without_ops_is_all_gap():
    made = breakdown(account(two_steps().range("step/2", 200, 300)), chosen=[2])

    assert made.totals == {"wall_ns": 100, "exposed_ns": 0, "gap_ns": 100}
    assert (made.rows, made.devices, made.labelled_share, made.second_card_ns) == ([], [], 0, 0)


def test_a_chosen_step_of_no_length():
    """Its only op has no length and runs after the range."""
    trace = TraceBuilder().range("step/0", 0, 10).kernel("a", 20, 20, call=(5, 6))
    made = breakdown(account(trace), "kernel")

    assert made.totals == {"wall_ns": 0, "exposed_ns": 0, "gap_ns": 0}
    assert (rows(made), made.gaps) == ({"a": (0, 0, 0, 1)}, [])


def test_where_no_step_is_whole_it_is_refused():
    trace = TraceBuilder().range("step/0", 0, 100).kernel("a", 20, 30, call=(5, 6))
    found = account(trace.api("cudaLaunchKernel", 40, 41, correlation=99))
    with pytest.raises(Refused, match=r"none of the 1 steps is whole .*--steps A:B") as fault:
        breakdown(found)
    assert fault.value.exit_code == 4
