"""Which ops a selection means, and what it says where it means none."""

import pytest

from stepprof.analyses.graph.step_graph import Nodes
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.analyses.whatif.op_selection import matching, nothing_matches
from stepprof.analyses.whatif.proposal_model import Select

NODES = Nodes.of(
    ["host: to call 0", "rms_norm", "gemm_a", "gemm_b"],
    host=[True, False, False, False],
    role=[-1, ROLES.index("norm"), ROLES.index("dense_gemm"), ROLES.index("expert_gemm")],
    kind=[-1, KINDS.index("norm"), KINDS.index("gemm"), KINDS.index("gemm")],
    layer=[-1, 0, 0, 12],
    phase=[-1, -1, PHASES.index("verify"), PHASES.index("draft")],
    device=[-1, 0, 0, 1],
    label=[(), ("verify", "layer/0/norm"), ("verify", "layer/0/attention"), ("draft/1", "layer/12/moe")],
)


@pytest.mark.parametrize(
    ("select", "names"),
    [
        (Select(), ["rms_norm", "gemm_a", "gemm_b"]),
        (Select(role=("norm", "expert_gemm")), ["rms_norm", "gemm_b"]),
        (Select(kind=("gemm",)), ["gemm_a", "gemm_b"]),
        (Select(kind=("gemm",), layer=(0, 5)), ["gemm_a"]),
        (Select(phase=("draft",)), ["gemm_b"]),
        (Select(name="^gemm"), ["gemm_a", "gemm_b"]),
        (Select(device=(1,)), ["gemm_b"]),
        (Select(label="^verify/layer/0/"), ["rms_norm", "gemm_a"]),
        (Select(name="host"), []),
    ],
)
def test_all_conditions_hold(select: Select, names: list[str]):
    which = matching(NODES, select)
    assert [name for name, chosen in zip(NODES.name, which, strict=True) if chosen] == names


@pytest.mark.parametrize(
    ("select", "said"),
    [
        (Select(role=("mhc",)), 'no op has role "mhc": there are norm, expert_gemm, dense_gemm'),
        (Select(layer=(1, 2)), 'no op has layer "1, 2": there are 0, 12'),
        (Select(name="gem_a"), 'no op has name "gem_a": did you mean gemm_a'),
        (Select(label="layer/12/moes"), 'no op has label "layer/12/moes": did you mean'),
        (
            Select(phase=("accept",), device=(2,)),
            '"accept": there are draft, verify; no op has device "2": there are 0, 1',
        ),
        (Select(kind=("gemm",), role=("norm",)), "each condition alone matches, but no op meets all of them"),
        (Select(role=("norm",)), ""),
    ],
)
def test_what_there_is_instead(select: Select, said: str):
    found = nothing_matches(NODES, select)
    assert said in found and bool(said) == bool(found)


def test_a_trace_without_phases_says_so():
    assert nothing_matches(Nodes.of(["a"]), Select(phase=("draft",))).endswith("this trace says no phase of any op")
