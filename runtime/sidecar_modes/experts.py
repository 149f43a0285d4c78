"""Loads the cold experts of all layers onto the sidecar's device."""

from __future__ import annotations

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.loader import Loader, fill_bank
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import ColdExperts
from stepprof.runtime.weights import Weights


def load_cold_experts(
    config: Config, options: Options, weights: Weights, placement: Placement, scope: Scope
) -> ColdExperts:
    """The experts that `placement` calls cold."""
    load = Loader(weights, torch.device(options.sidecar_device), getattr(torch, config.dtype))
    banks = [
        fill_bank(load.at(f"layers.{i}.moe"), placement.cold(i), config.hidden, config.expert_width)
        for i in range(config.layers)
    ]
    return ColdExperts(config, options, banks, scope)
