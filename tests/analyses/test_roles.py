"""Roles of ops: who speaks first, what neighbours give, and where a kind does not fit."""

from pathlib import Path

import numpy as np
import pytest

from stepprof.analyses.ranges import RangeInfo, path_info, range_info
from stepprof.analyses.roles import OpRoles, op_roles
from stepprof.analyses.rules import RuleSet, load_rules
from stepprof.analyses.vocabulary import CONFIDENCES, KERNEL, KINDS, MEMCPY, MEMSET, PHASES, ROLES

GEMM = "nvjet_tst_64x8_64x16"
GROUPED = "void cutlass::device_kernel<cutlass::gemm::GroupProblemShape<int>>"
SPLIT_K = "void cublasLt::splitKreduce_kernel<32, 16, int>"
COPY = "void at::native::elementwise_kernel<at::native::direct_copy_kernel_cuda>"
ADD = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>>"
RMS_NORM = "void vllm::rms_norm_kernel<float>"
SPIN = "void spin_wait_kernel(unsigned int volatile*)"

Op = tuple[str, int, tuple[str, ...]]  # name, stream, ranges around it


def decide(ops: list[Op], rules: RuleSet | None = None, use_labels: bool = True, **given: list[int]) -> OpRoles:
    """Ops in order of start; `activity` and `order` may be given."""
    names = sorted({name for name, _, _ in ops})
    paths = sorted({path for _, _, path in ops})
    return op_roles(
        names,
        np.array([names.index(name) for name, _, _ in ops], dtype=np.int32),
        np.array(given.get("activity", [KERNEL] * len(ops)), dtype=np.int8),
        np.array([stream for _, stream, _ in ops], dtype=np.int32),
        np.array(given.get("order", range(len(ops))), dtype=np.int64),
        np.array([paths.index(path) if path else -1 for _, _, path in ops], dtype=np.int32),
        paths,
        rules or load_rules(),
        use_labels,
    )


def roles(made: OpRoles) -> list[str]:
    return [ROLES[code] for code in made.role]


def confidences(made: OpRoles) -> list[str]:
    return [CONFIDENCES[code] for code in made.confidence]


def rule_ids(made: OpRoles) -> list[str]:
    return [made.rule_ids[number] for number in made.rule]


def test_names_decide_where_nothing_else_speaks():
    made = decide([(RMS_NORM, 0, ()), (GEMM, 0, ()), (ADD, 0, ()), ("mystery", 0, ())])
    assert roles(made) == ["norm", "dense_gemm", "elementwise", "unknown"]
    assert confidences(made) == ["high", "medium", "low", "none"]
    assert [KINDS[code] for code in made.kind] == ["norm", "gemm", "elementwise", "other"]
    assert made.layer.tolist() == [-1] * 4 and made.phase.tolist() == [-1] * 4


def test_the_innermost_range_with_a_role_beats_the_name():
    made = decide([(RMS_NORM, 0, ("verify", "layer/7/attention", "aten::rms_norm")), (ADD, 0, ("step/3",))])
    assert roles(made) == ["attention", "elementwise"]
    assert confidences(made) == ["label", "low"]
    assert rule_ids(made)[0] == "layer.role"
    assert made.layer.tolist() == [7, -1]
    assert [PHASES[made.phase[0]], int(made.phase[1])] == ["verify", -1]


def test_without_labels_only_names_speak():
    made = decide([(RMS_NORM, 0, ("layer/7/attention",))], use_labels=False)
    assert (roles(made), made.layer.tolist()) == (["norm"], [-1])


def test_a_kernel_that_waits_has_role_wait_in_any_range():
    made = decide(
        [(SPIN, 0, ("layer/3/accumulate",)), (ADD, 0, ("layer/3/accumulate",)), (ADD, 0, ("sidecar/3/wait",))]
    )
    assert roles(made) == ["wait", "combine", "wait"]
    assert rule_ids(made)[0] == "kind.wait"
    assert made.mismatch.tolist() == [False, False, True]


def test_memcpys_and_memsets_need_no_name():
    made = decide([("", 0, ()), ("", 0, ())], activity=[MEMCPY, MEMSET])
    assert roles(made) == ["copy", "memset"]
    assert confidences(made) == ["high", "high"]


def test_an_op_without_a_name_is_unknown():
    none = np.array([-1])
    made = op_roles([], none, np.array([KERNEL]), np.array([0]), np.array([0]), none, [], load_rules())
    assert (roles(made), KINDS[made.kind[0]]) == (["unknown"], "other")


def test_no_ops_give_no_roles():
    assert decide([]).role.tolist() == []


def test_a_split_k_reduce_takes_the_role_of_the_gemm_before_it_on_its_stream():
    made = decide(
        [
            (GEMM, 1, ("layer/0/router",)),
            (GROUPED, 2, ()),
            (SPLIT_K, 1, ()),  # follows the router's GEMM
            (SPLIT_K, 2, ()),  # follows the grouped GEMM, whose role is only usual
            (SPLIT_K, 2, ()),  # follows no GEMM
            (SPLIT_K, 3, ()),  # first of its stream
        ]
    )
    assert roles(made)[2:] == ["router", "expert_gemm", "dense_gemm", "dense_gemm"]
    assert confidences(made)[2:] == ["neighbour", "medium", "high", "high"]
    assert rule_ids(made)[2] == "neighbour.previous-gemm"


def test_a_memset_takes_the_role_of_the_gemm_after_it_on_its_stream():
    memset, kernel = MEMSET, KERNEL
    made = decide(
        [("", 1, ()), ("", 2, ()), (GEMM, 1, ("layer/0/router",)), (ADD, 2, ()), ("", 1, ())],
        activity=[memset, memset, kernel, kernel, memset],
    )
    assert roles(made) == ["router", "memset", "router", "elementwise", "memset"]
    assert confidences(made)[:2] == ["neighbour", "high"]


def test_neighbours_follow_the_order_of_starts():
    made = decide([(SPLIT_K, 1, ()), (GEMM, 1, ("layer/0/router",))], order=[1, 0])
    assert roles(made) == ["router", "router"]


def test_a_label_beats_a_neighbour():
    made = decide([(GEMM, 1, ("layer/0/router",)), (SPLIT_K, 1, ("layer/0/attention",))])
    assert roles(made) == ["router", "attention"]


@pytest.fixture
def my_rules(tmp_path: Path) -> RuleSet:
    file = tmp_path / "mine.toml"
    file.write_text(
        """
        [[role]]
        id = "mine.head"
        pattern = '^nvjet_tst_64x8'
        role = "lm_head"

        [[role]]
        id = "mine.default"
        pattern = 'CUDAFunctor_add'
        role = "combine"
        confidence = "medium"

        [[range]]
        id = "mine.blocks"
        pattern = '^block (?P<layer>\\d+) mixer$'
        role = "attention"
        """
    )
    return load_rules(file)


def test_a_users_rule_beats_labels_and_neighbours(my_rules: RuleSet):
    made = decide([(GEMM, 0, ("layer/1/attention",)), (COPY, 0, ("block 4 mixer",))], my_rules)
    assert roles(made) == ["lm_head", "attention"]
    assert confidences(made) == ["user", "label"]
    assert rule_ids(made) == ["mine.head", "mine.blocks"]
    assert made.layer.tolist() == [1, 4]


def test_a_users_rule_of_medium_confidence_is_a_default_below_labels(my_rules: RuleSet):
    made = decide([(ADD, 0, ("layer/1/norm",)), (ADD, 0, ())], my_rules)
    assert roles(made) == ["norm", "combine"]
    assert confidences(made) == ["label", "medium"]


def test_a_copy_inside_a_gemm_range_is_flagged():
    path = ("layer3", "sidecar", "sidecar.gemm")
    made = decide([(COPY, 0, path), (GEMM, 0, path), (ADD, 0, path), (COPY, 0, ("layer3", "attention"))])
    assert roles(made) == ["sidecar_gemm"] * 3 + ["attention"]
    assert made.mismatch.tolist() == [True, False, False, False]
    assert made.layer.tolist() == [3] * 4


RANGES = {
    "layer/3/attention": RangeInfo("layer.role", role="attention", layer=3),
    "layer/3/experts": RangeInfo("layer.role", role="expert_gemm", layer=3),
    "layer/3/accumulate": RangeInfo("layer.role", role="combine", layer=3),
    "layer/3/nonsense": RangeInfo("layer.role", layer=3),
    "layer12": RangeInfo("layer", layer=12),
    "layers.12": RangeInfo("layer", layer=12),
    "model.layers.12.self_attn": RangeInfo("layer.module", layer=12),
    "norm": RangeInfo("role", role="norm"),
    "experts": RangeInfo("role", role="expert_gemm"),
    "Router": RangeInfo("role", role="router"),
    "lm_head": RangeInfo("role", role="lm_head"),
    "sample": RangeInfo("role", role="sampling"),
    "embedding": RangeInfo("role", role="embedding"),
    "unknown": RangeInfo("role"),
    "sidecar": RangeInfo("sidecar.call", call=True),
    "sidecar/4": RangeInfo("sidecar.call", call=True, layer=4),
    "sidecar/4 rows=6 experts=12": RangeInfo("sidecar.call", call=True, layer=4, rows=6, experts=12),
    "sidecar/4/copy_in": RangeInfo("sidecar.copy", role="sidecar_copy", layer=4, part="copy_in"),
    "sidecar/4/publish": RangeInfo("sidecar.copy", role="sidecar_copy", layer=4, part="publish"),
    "sidecar/4/gather": RangeInfo("sidecar.gather", role="sidecar_gather", layer=4, part="gather"),
    "sidecar/4/up": RangeInfo("sidecar.gemm", role="sidecar_gemm", layer=4, part="up"),
    "sidecar/4/activation": RangeInfo("sidecar.gemm", role="sidecar_gemm", layer=4, part="activation"),
    "sidecar/4/reduce": RangeInfo("sidecar.reduce", role="sidecar_reduce", layer=4, part="reduce"),
    "sidecar/4/wait": RangeInfo("sidecar.wait", role="wait", layer=4, part="wait"),
    "sidecar/4/dance": RangeInfo("sidecar.other", layer=4, part="dance"),
    "sidecar.copy_out": RangeInfo("sidecar.dotted-copy", role="sidecar_copy", part="copy_out"),
    "sidecar.gemm": RangeInfo("sidecar.dotted-gemm", role="sidecar_gemm", part="gemm"),
    "sidecar.reduce": RangeInfo("sidecar.dotted-reduce", role="sidecar_reduce", part="reduce"),
    "sidecar.wait": RangeInfo("sidecar.dotted-wait", role="combine", part="wait"),
    "draft": RangeInfo("phase.draft", phase="draft"),
    "draft/2": RangeInfo("phase.draft", phase="draft", draft=2),
    "verify": RangeInfo("phase.verify", phase="verify"),
    "accept": RangeInfo("phase.accept", phase="accept"),
    "prefill": RangeInfo("phase.prefill", phase="prefill"),
    "step/3": RangeInfo(),
    "aten::mm": RangeInfo(),
    "": RangeInfo(),
    "layer/99999999999999999999/norm": RangeInfo("layer.role", role="norm"),
    "layer/3/norm\n" * 9_000: RangeInfo(),
}


@pytest.mark.parametrize(("name", "info"), RANGES.items(), ids=[name[:40] or "empty" for name in RANGES])
def test_what_a_range_says(name: str, info: RangeInfo):
    assert range_info(name) == info


def test_a_path_takes_each_item_from_the_innermost_range_that_gives_it():
    info = path_info(("layer/1/attention", "draft/0", "layer2", "norm", "aten::mul"))
    assert (info.role, info.layer, info.phase) == ("norm", 2, "draft")
    assert path_info(()).role == ""
