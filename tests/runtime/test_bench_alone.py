"""A sidecar alone: which experts calls read, that answers are those of the experts, and that it is ended."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from stepprof.kernels import expert_gemm
from stepprof.runtime.bench.alone import SidecarAlone
from stepprof.runtime.config import TINY
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar_modes.experts import load_cold_experts
from stepprof.runtime.weights import RandomWeights

CONFIG = replace(TINY, hot_experts=3)  # 5 cold ones


def alone(mode: Any, each: int = 1) -> SidecarAlone:
    weights, placement = RandomWeights(0), Placement.first(CONFIG)
    return SidecarAlone.make(mode, CONFIG, Options(), weights, placement, rows=(1, 2), each=each)


def test_successive_calls_read_other_experts():
    """Two rows of two experts, five in the bank: each call goes on where the one before it ended."""
    with alone("graph", each=2) as made:
        seen: list[list[int]] = []
        for call in range(3):
            made.fill(2, call)
            slots = made.box().slots
            seen.append(slots[slots >= 0].tolist())
        assert seen == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4, 0, 1]]
        assert (made.distinct(1), made.distinct(2), int(made.box().held)) == (2, 4, 2)


@pytest.mark.parametrize("mode", ["graph", "persistent", "call"])
def test_answers_are_those_of_the_experts(mode: Any):
    """Every mode computes what the kernels' references do on the bank of the first layer."""
    with alone(mode) as made:
        made.fill(2, 1)
        box = made.box()
        got = made.answer()[:2].clone()
        made.pause()
        experts = load_cold_experts(
            CONFIG.with_layers(1),
            Options(),
            RandomWeights(0),
            Placement.first(CONFIG.with_layers(1)),
            Scope(got.device),
        )
        w_in, w_out = experts.banks[0]
        h = expert_gemm.up_gate(box.x, box.slots, w_in)
        truth = expert_gemm.reduce(expert_gemm.down(h, box.slots, box.weights, w_out), box.x.dtype)[:2]
        assert torch.allclose(got, truth, atol=1e-6) and float(truth.abs().max()) > 0
        assert made.timed() > 0
