"""Every op opens a range that the rules read as the role the truth gives it."""

from typing import Any

import pytest

from stepprof.analyses.ranges import range_info
from stepprof.analyses.rules import load_rules
from stepprof.runtime import scope as scopes
from stepprof.runtime.config import TINY
from stepprof.runtime.engine import Engine
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.truth import OpTruth, Truth
from tests.runtime.engines import PROMPT

SWITCHES: list[dict[str, Any]] = [
    {},
    {"fuse": ("boundary", "moe_front", "attn")},
    {"reduce": "atomic", "sampling": "block", "mhc_stream": True},
    {"sidecar_mode": "persistent", "cold_rate": 0.5, "simulate_acceptance": (1.0, 0.5, 0.5, 0.1, 0.0)},
]


def recorded(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> tuple[list[tuple[str, OpTruth]], Truth]:
    """(range name, truth) of every op of one step, and the step's truth."""
    seen: list[tuple[str, OpTruth]] = []
    make = Scope._context

    def context(self: Scope, name: str, truth: OpTruth) -> Any:
        if self.truth is not None and self.truth.recording:
            seen.append((name, truth))
        return make(self, name, truth)

    monkeypatch.setattr(scopes.Scope, "_context", context)
    truth = Truth()
    with Engine.make(TINY, Options(**options), truth=truth) as engine:
        engine.add(PROMPT)
        engine.step()
    return seen, truth


@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_ranges_say_what_the_truth_says(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    seen, truth = recorded(monkeypatch, options)
    assert [op for _, op in seen] == truth.ops and len(seen) > 100
    for name, op in seen:
        info = range_info(name)
        assert (info.role, info.layer) == (op.role, op.layer), f"{name=} {op=}"


@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_kinds_fit_roles(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    _, truth = recorded(monkeypatch, options)
    wrong = {(op.role, op.kind) for op in truth.ops if not load_rules().fits(op.role, op.kind)}
    assert wrong == set()


def test_fused_kernels_make_a_step_shorter(monkeypatch: pytest.MonkeyPatch):
    plain, shared, fused = (
        len(recorded(monkeypatch, options)[0])
        for options in ({}, {"share_topk": True}, {"fuse": ("boundary", "moe_front", "attn")})
    )
    assert fused < shared < plain
