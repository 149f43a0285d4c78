"""Steps, labels and accounts of real captures against independent counts, to the nanosecond."""

import numpy as np
import pytest

from stepprof.analyses.attribution import Question
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.intervals import union_length
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.roles import op_roles
from stepprof.analyses.rules import load_rules
from stepprof.analyses.vocabulary import ROLES
from stepprof.profiler.errors import Refused
from tests.real_runs import NSYS_FILES, attributed, expected, run_of

AWAY = [1_835_963, 1_871_768, 1_843_834, 1_829_562, 1_836_601, 1_861_081, 1_813_498, 1_861_466]
WORK_BY_LABEL = {  # h200x2_graph, kernels of all 11 replays by innermost range
    (0, "experts"): 35_728_509,
    (0, "attention"): 23_545_064,
    (0, "norm"): 7_806_244,
    (0, "router"): 5_027_054,
    (0, "lm_head"): 535_680,
    (0, "sidecar.wait"): 166_560,
    (0, "sample"): 113_216,
    (1, "sidecar.gemm"): 15_867_212,
    (1, "sidecar.reduce"): 658_239,
}


@pytest.mark.parametrize("name", NSYS_FILES)
def test_marked_steps(name):
    steps = attributed(name).steps
    truth = expected(name)["steps"]["per_step"]
    w = steps.windows
    assert steps.label == truth["name"]
    assert w.ops.tolist() == truth["ops"]
    assert (w.host_end - w.host_start).tolist() == truth["host_ns"]
    assert (w.gpu_end - w.gpu_start).tolist() == truth["gpu_span_ns"]
    assert (w.gpu_start - w.host_start).tolist() == truth["first_op_after_host_start_ns"]
    assert (w.host_end - w.gpu_end).tolist() == truth["host_end_after_last_op_ns"]


@pytest.mark.parametrize("name", NSYS_FILES)
def test_busy_and_work_of_each_card_in_each_step(name):
    found = attributed(name)
    at = np.flatnonzero(found.steps.of_op != UNKNOWN)
    group = found.steps.of_op[at] * 2 + found.ops.device[at]
    cells = 2 * len(found.steps)
    busy = union_length(group, found.ops.start[at], found.ops.end[at], cells)
    work = np.bincount(group, weights=found.ops.duration[at], minlength=cells)
    for step, cards in enumerate(expected(name)["steps"]["per_step"]["per_device"]):
        for device, truth in cards.items():
            cell = 2 * step + int(device)
            assert (busy[cell], work[cell]) == (truth["union_ns"], truth["sum_ns"])


@pytest.mark.parametrize("name", ["h200x2_graph.sqlite", "h200x2_overlap.sqlite", "h200_hf_deepseek_compile.sqlite"])
def test_capture_labels(name):
    """All graph ops carry the ranges open at capture; in the compiled run none was open, and 0 % is the truth."""
    found = attributed(name)
    truth = expected(name)["capture_labels"]
    at = np.flatnonzero(found.ops.in_graph)
    assert len(at) == truth["graph_ops"]
    assert int((found.labels.of_op[at] != UNKNOWN).sum()) == truth["labelled"]
    assert len(np.unique(found.labels.of_op[at])) == max(truth["distinct_paths"], 1)


def test_work_by_innermost_label_of_the_two_card_graph():
    found = attributed("h200x2_graph.sqlite")
    kernels = np.flatnonzero(found.ops.in_graph & (found.ops.activity == 0))
    work: dict[tuple[int, str], int] = {}
    for op in kernels.tolist():
        key = (int(found.ops.device[op]), found.labels.paths[found.labels.of_op[op]][-1])
        work[key] = work.get(key, 0) + int(found.ops.duration[op])
    assert work == WORK_BY_LABEL


def test_kernels_and_copies_of_each_step_of_the_two_card_graph():
    found = attributed("h200x2_graph.sqlite")
    for step in range(8):
        mine = found.steps.of_op == step
        kernels = mine & (found.ops.activity == 0)
        assert int((kernels & (found.ops.device == 0)).sum()) == 1198
        assert int((kernels & (found.ops.device == 1)).sum()) == 72
        assert int((mine & (found.ops.activity == 1)).sum()) == 24


def test_away_time_of_the_two_card_graph():
    """From each copy in to the next op on the main card, summed over the 12 calls of a step."""
    found = attributed("h200x2_graph.sqlite")
    ops, away = found.ops, []
    copy_in = np.array([path[-1] == "sidecar.copy_in" for path in found.labels.paths])
    for step in range(8):
        main = np.flatnonzero((found.steps.of_op == step) & (ops.device == 0))
        calls = np.flatnonzero(copy_in[found.labels.of_op[main]])
        assert len(calls) == 12
        away.append(int((ops.start[main[calls + 1]] - ops.start[main[calls]]).sum()))
    assert away == AWAY


def test_copying_inside_the_sidecar_gemm_is_shown():
    """69 % of the work in range sidecar.gemm is direct_copy_kernel_cuda; 10,968,988 ns in all 11 replays."""
    found = attributed("h200x2_graph.sqlite")
    gemm = [i for i, path in enumerate(found.labels.paths) if path[-1] == "sidecar.gemm"]
    copies = np.array(["direct_copy_kernel_cuda" in name for name in found.ops.names])
    mine = found.ops.in_graph & np.isin(found.labels.of_op, gemm) & copies[found.ops.name]
    assert int(found.ops.duration[mine].sum()) == 10_968_988
    odd = {m.role: m for m in breakdown(found).mismatches}
    assert (odd["sidecar_gemm"].kind, odd["sidecar_gemm"].kernel) == ("copy", "direct_copy_kernel_cuda")
    assert odd["sidecar_gemm"].share == pytest.approx(0.691, abs=0.001)


@pytest.mark.parametrize(
    ("name", "steps", "ops"), [("h200x2_graph.sqlite", 11, 1294), ("h200x2_overlap.sqlite", 11, 1378)]
)
def test_steps_by_graph_launches(name, steps, ops):
    found = attributed(name, question=Question(method="launches"))
    assert found.steps.windows.ops.tolist() == [ops] * steps


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("h200x2_graphlevel.sqlite", "11 of 11 graph launches carry no kernel records"),
        ("public/centerformer_poolformer.sqlite", "no GPU activity is on record (21996 ranges and 0 API calls)"),
        ("public/lighttransport_gemm_profile.sqlite", "no GPU activity is on record (0 ranges and 3 API calls)"),
        ("public/fuser_report1.sqlite", "no steps found"),
        ("public/nsysai_h100_2gpu_1s.sqlite", "no steps found"),
        ("public/nsysai_mfu_2gpu_before.sqlite", "no steps found"),
        ("public/nsysai_mock.sqlite", "no steps found"),
    ],
)
def test_refused(name, reason):
    with pytest.raises(Refused) as refusal:
        attributed(name)
    assert reason in str(refusal.value)
    assert name.rsplit("/", 1)[-1].removesuffix(".sqlite") in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("h200x2_graph.sqlite", 0.001),
        ("h200x2_eager.sqlite", 0.001),
        ("h200x2_overlap.sqlite", 0.001),
        ("h200_hf_deepseek_compile.sqlite", 0.02),
        ("h200_hf_deepseek_eager.sqlite", 0.02),
    ],
)
def test_unknown_share_of_exposed_time(name, limit):
    result = breakdown(attributed(name))
    print(
        f"{name}: unknown {result.unknown_share:.4f}, low confidence {result.low_confidence_share:.4f} of exposed time"
    )
    assert result.unknown_share <= limit


@pytest.mark.parametrize("name", ["h200x2_graph.sqlite", "h200x2_eager.sqlite", "h200x2_overlap.sqlite"])
def test_role_accuracy_with_labels_hidden(name):
    """Roles from names alone against roles from labels: printed, since names rarely tell a role."""
    found = attributed(name)
    ops = found.ops
    blind = op_roles(
        ops.names, ops.name, ops.activity, ops.stream, np.arange(len(ops)), found.labels.of_op, found.labels.paths,
        load_rules(), use_labels=False,
    )  # fmt: skip
    at = np.flatnonzero(found.steps.of_op != UNKNOWN)
    right = blind.role[at] == found.roles.role[at]
    work = ops.duration[at]
    print(f"{name}: roles right by name alone: {right.mean():.3f} of ops, {work[right].sum() / work.sum():.3f} of work")
    sure = blind.confidence[at] <= 2  # user, label, high
    assert (blind.role[at][sure & ~right] != ROLES.index("unknown")).all()
    assert found.roles.kind[at].tolist() == blind.kind[at].tolist()


def test_every_readable_capture_is_partitioned():
    """exposed + gaps = wall for every step (asserted in the walk); refusing everything would not pass."""
    partitioned = 0
    for name in NSYS_FILES:
        found = attributed(name)
        result = breakdown(found, chosen=range(len(found.steps)))
        assert result.totals["exposed_ns"] + result.totals["gap_ns"] == result.totals["wall_ns"]
        partitioned += len(found.steps)
    assert partitioned == 8 + 8 + 8 + 6 + 6
    assert run_of("h200x2_graph.sqlite").value("SELECT count(*) FROM op") == 18_506
