"""Two arms side by side: the answer, where it went, which ops came and went."""

from typing import Any

import pytest

from stepprof.analyses.compare.comparison import Sample, compared, doubt_warnings, sample_of
from stepprof.analyses.compare.launches import launch_of_document, launch_of_store
from stepprof.analyses.compare.op_deltas import OneSided
from stepprof.profiler.errors import InputError
from tests.analyses.gates.gates import document
from tests.trace_builder import TraceBuilder

GEMM, TOPK, COPY = "nvjet_tst_64x8", "gatherTopK", "direct_copy_kernel_cuda"


def launch(*kernels: tuple[str, int], steps: int = 3, layer: str = "layer/0/attention") -> Sample:
    """Steps of kernels (name, µs) in a row, each from 5 µs after the step's start; it ends with the last one."""
    trace, at = TraceBuilder(), 0
    for n in range(steps):
        end = at + 5000 + 1000 * sum(length for _, length in kernels)
        trace.range(f"step/{n}", at, end).range(layer, at + 1, at + 4000)
        start = at + 5000
        for i, (name, length) in enumerate(kernels):
            trace.kernel(name, start, start + 1000 * length, call=(at + 10 + i, at + 11 + i))
            start += 1000 * length
        at = end
    return sample_of(launch_of_store(trace.store()))


def sample(step_ms: float, **options: Any) -> Sample:
    return sample_of(launch_of_document(document(step_ms, **options), f"{step_ms}.json"))


def test_a_shorter_step():
    found = compared([sample(10.0), sample(10.1)], [sample(9.0), sample(9.1)])
    assert found.delta is not None and found.estimate == pytest.approx(-1)
    assert found.delta.high == pytest.approx(-1 + 4.302653 * 0.0707107, abs=1e-5)
    assert (found.outcome, found.shift, found.permutation) == ("lower", pytest.approx(-1), None)
    assert [warning["code"] for warning in found.warnings] == ["few_controls"]


def test_a_longer_step_and_one_that_is_not_told_apart():
    assert compared([sample(9.0), sample(9.1)], [sample(10.0), sample(10.1)]).outcome == "higher"
    assert compared([sample(9.0), sample(9.1)], [sample(9.02), sample(9.07)]).outcome == "not_told_apart"


def test_within_the_noise_floor():
    """Controls 9.0 and 9.4: floor 2 · 0.283 · √(1/2 + 1/9) = 0.44; the shift of 0.4 is below it."""
    control = [sample(9.0), sample(9.4)]
    found = compared(control, [sample(8.8)] * 9)
    assert found.outcome == "not_told_apart"


def test_from_four_launches_an_arm_ranks_speak_too():
    found = compared([sample(10 + n / 100) for n in range(4)], [sample(9 + n / 100) for n in range(4)])
    assert found.permutation is not None and found.permutation.two_sided == 2 / 70


def test_one_launch_an_arm_is_refused_but_shown():
    found = compared([sample(10.0)], [sample(9.0), sample(9.1)])
    assert (found.outcome, found.delta, found.estimate) == ("refused", None, pytest.approx(-0.95))
    assert "add launches to each arm" in found.reason


def test_launches_of_different_kinds_are_not_compared():
    with pytest.raises(InputError, match=r"different kinds .*9.0.json \(document, host clock\).*\(trace, window\)"):
        compared([sample(10.0), sample(10.0)], [launch((GEMM, 10)), sample(9.0)])


def test_settings_that_differ_are_listed():
    found = compared([sample(10.0, k=5), sample(10.1, k=5)], [sample(9.0, k=7), sample(9.1, k=7)])
    assert [(one.setting, one.control, one.candidate) for one in found.settings] == [("options.k", ["5"], ["7"])]


def test_throughput_by_cell():
    a, b = ([sample(9.0, tokens_per_s={"code": value + n}) for n in (0, 2)] for value in (100.0, 110.0))
    (row,) = compared(a, b).cells
    assert (row.key, row.control, row.candidate, row.delta) == ("code@1", 101, 111, 10)


# --- where it went ----------------------------------------------------------------------------


def test_where_it_went():
    """The gemm goes from 10 and 12 to 6 and 8, the copy stays: −4 by kind gemm and of the wall."""
    control = [launch((GEMM, 10), (COPY, 3)), launch((GEMM, 12), (COPY, 3))]
    candidate = [launch((GEMM, 6), (COPY, 3)), launch((GEMM, 8), (COPY, 3))]
    found = compared(control, candidate)
    assert found.wall is not None and found.wall.delta == -4000
    kinds = {row.key: (row.control, row.candidate, row.delta) for row in found.rows["kind"]}
    assert kinds == {"gemm": (11_000, 7000, -4000), "copy": (3000, 3000, 0)}
    assert sum(row.delta for row in found.rows["role"] + found.rows["gap"]) == found.wall.delta
    assert found.rows["layer"][0].key == "0" and found.rows["layer"][0].delta == -4000


def test_every_row_has_its_bound():
    """Gemms of 10, 12 against 6, 8 µs: error √(1 + 1) µs, t 4.3027 at 2 degrees of freedom."""
    found = compared([launch((GEMM, 10)), launch((GEMM, 12))], [launch((GEMM, 6)), launch((GEMM, 8))])
    row = found.rows["kind"][0]
    assert row.bound == pytest.approx(4302.653 * 2**0.5, rel=1e-5)
    assert not row.beyond
    alone = compared([launch((GEMM, 10))], [launch((GEMM, 6))]).rows["kind"][0]
    assert (alone.bound, alone.beyond) == (None, False)


def test_ops_are_aligned_by_position():
    """Two gemms of one name: the first is 4 µs shorter, the top-k between them is gone, a copy is new."""
    control = [launch((GEMM, 10), (TOPK, 5), (GEMM, 7))] * 2
    candidate = [launch((GEMM, 6), (GEMM, 7), (COPY, 2))] * 2
    found = compared(control, candidate).ops
    assert found is not None
    assert (found.by, found.steps_share, found.unaligned_ops) == ("label", 1, 0)
    assert [(row.key, row.delta) for row in found.aligned] == [
        (f"0 layer/0/attention › {GEMM}", -4000),
        (f"2 layer/0/attention › {GEMM}", 0),
    ]
    assert found.vanished == [OneSided(TOPK, "layer/0/attention", 1, 5000, 5000)]
    assert found.appeared == [OneSided(COPY, "layer/0/attention", 1, 2000, 2000)]


def test_rows_in_a_label_do_not_part_ops():
    control = launch((GEMM, 10), layer="sidecar/3 rows=2 experts=1")
    candidate = launch((GEMM, 9), layer="sidecar/3 rows=4 experts=2")
    found = compared([control], [candidate]).ops
    assert found is not None and [row.delta for row in found.aligned] == [-1000]


def test_arms_that_are_marked_differently_are_aligned_by_name():
    found = compared([launch((GEMM, 10), layer="attn 0")], [launch((GEMM, 9), layer="layer/0/attention")]).ops
    assert found is not None and (found.by, [row.delta for row in found.aligned]) == ("name", [-1000])


def test_a_launch_with_other_ops_than_its_arm_is_counted():
    control = [launch((GEMM, 10)), launch((GEMM, 10), (TOPK, 1))]
    found = compared(control, [launch((GEMM, 10))] * 2).ops
    assert found is not None and found.unaligned_ops == 1


def test_a_launch_stands_for_itself_by_its_most_common_step():
    """The most common step of 5 is one of three like steps; a different one is not averaged in."""
    trace, at = TraceBuilder(), 0
    for n, name in enumerate([GEMM, GEMM, TOPK, GEMM]):
        trace.range(f"step/{n}", at, at + 100).kernel(name, at + 20, at + 90, call=(at + 5, at + 6))
        at += 100
    made = sample_of(launch_of_store(trace.store()))
    assert made.profile is not None
    typical = made.profile.typical
    assert (typical.name, typical.steps, typical.of_steps, typical.exposed_ns.tolist()) == ([GEMM], 3, 4, [70.0])


def test_doubtful_times_are_told_once_with_their_launches():
    found = doubt_warnings([("CPU.",), ("CPU.", "Old."), ()])
    assert [(one["count"], one["text"]) for one in found] == [(2, "2 launches: CPU."), (1, "1 launches: Old.")]
