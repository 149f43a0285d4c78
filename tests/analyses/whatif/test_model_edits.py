"""Edits of what the model computes: shared answers, moved experts, other drafts."""

from dataclasses import replace

import pytest

from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.edits import apply
from stepprof.analyses.whatif.proposal_model import Draft, Place, Select, Share
from stepprof.profiler.errors import UsageError
from tests.proposals import ASSUME, after, exactly, named
from tests.step_graphs import hand

# four layers of one 10, gaps of 2: 46
LAYERS = hand(
    {name: [10] for name in "abcd"}, [("a", "b", 2), ("b", "c", 2), ("c", "d", 2)], layer=[0, 1, 2, 3], role=[1] * 4
)


def test_layers_behind_a_source_take_its_answer():
    assert after(LAYERS) == [46]
    assert after(LAYERS, Share(Select(role=("indexer",)), (0,))) == [10]
    assert after(LAYERS, Share(Select(role=("indexer",)), (0, 2))) == [22]
    # layers 0 and 1 have no source before them
    assert after(LAYERS, Share(Select(role=("indexer",)), (2,))) == [34]
    assert apply(LAYERS, Share(Select(), (1,)), ASSUME).touched.tolist() == [False, False, True, True]


# main 10, 1, expert 20, 1, join 5; beside: 4, copy 6, 1, gather 30, 1, gemm 10, 4
CALL = hand(
    {"a": [10], "copy": [6], "gather": [30], "gemm": [10], "expert": [20], "join": [5]},
    [
        ("a", "copy", 4),
        ("copy", "gather", 1),
        ("gather", "gemm", 1),
        ("gemm", "join", 4),
        ("a", "expert", 1),
        ("expert", "join", 1),
    ],
    device=[0, 1, 1, 1, 0, 0],
    layer=[3] * 6,
    role=[ROLES.index(r) for r in ("norm", "sidecar_copy", "sidecar_gather", "sidecar_gemm", "expert_gemm", "combine")],
)
CALLS = Select(role=("sidecar_copy", "sidecar_gather", "sidecar_gemm"))


def test_a_share_of_the_experts_moves():
    assert after(CALL) == [71]
    # gather and GEMM half as long, the copy as it was
    assert after(CALL, Place(CALLS, exactly(0.5))) == [51]
    # main's experts take 20 longer: 10 + 1 + 40 + 1 + 5
    assert after(CALL, Place(CALLS, exactly(0.5), main_us=exactly(0.02))) == [57]
    assert apply(CALL, Place(CALLS, exactly(0.5)), ASSUME).notes[0].startswith("modelled: what the main card")
    with pytest.raises(UsageError, match="a fraction of experts scales these"):
        after(CALL, Place(named("copy"), exactly(0.5)))


def test_all_experts_of_a_layer_move():
    assert after(CALL, Place(CALLS, layers=(3,))) == [37]
    assert after(CALL, Place(CALLS, layers=(2,))) == [71]
    assert not apply(CALL, Place(CALLS, layers=(3,), main_us=exactly(1)), ASSUME).notes


DRAFTS = hand(
    {"block": [10], "one": [4], "two": [4], "verify": [20]},
    [("block", "one", 1), ("one", "two", 1), ("two", "verify", 1)],
    label=[("step/1", "draft/0"), ("step/1", "draft/1"), ("step/1", "draft/2"), ("step/1", "verify")],
)


def test_fewer_drafts_by_their_ops():
    assert after(DRAFTS, Draft(1)) == [36]
    done = apply(DRAFTS, Draft(1), ASSUME)
    assert (done.k, done.extra_ns) == (1, 0)
    assert "what verify saves by fewer rows is not in" in done.notes[0]
    with pytest.raises(UsageError, match="cost of a draft row is not known"):
        apply(DRAFTS, Draft(3), ASSUME)


def test_other_drafts_by_the_cost_of_a_row():
    row = exactly(0.335)
    assert apply(DRAFTS, Draft(3, row), replace(ASSUME, k=5)).extra_ns == pytest.approx(-670_000)
    assert apply(DRAFTS, Draft(7), replace(ASSUME, k=5, row_ms=row)).extra_ns == pytest.approx(670_000)
    with pytest.raises(UsageError, match="today's k is not known"):
        apply(DRAFTS, Draft(3, row), ASSUME)
