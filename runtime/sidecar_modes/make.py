"""Builds the sidecar that the options name, with its experts where they belong."""

from __future__ import annotations

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import NoSidecar, Sidecar
from stepprof.runtime.sidecar_modes.call import CallSidecar
from stepprof.runtime.sidecar_modes.experts import load_cold_experts
from stepprof.runtime.sidecar_modes.graph import GraphSidecar
from stepprof.runtime.sidecar_modes.persistent import PersistentSidecar
from stepprof.runtime.sidecar_modes.resident import ResidentSidecar
from stepprof.runtime.sidecar_modes.stub import StubSidecar
from stepprof.runtime.streams import Streams
from stepprof.runtime.weights import Weights


def make_sidecar(
    config: Config, options: Options, weights: Weights, placement: Placement, scope: Scope, streams: Streams
) -> Sidecar:
    """The sidecar of this run."""
    mode = options.sidecar_mode
    if mode == "off":
        if any(placement.cold(layer) for layer in range(config.layers)):
            raise ConfigError("--sidecar-mode off needs every expert hot: the placement leaves some cold.")
        return NoSidecar()
    if mode == "call":
        return CallSidecar(config, options, weights, placement, scope, streams)
    if mode == "stub":
        return StubSidecar(config, options)
    resident = mode == "persistent" and torch.device(options.sidecar_device).type == "cuda"
    if resident and (options.sidecar_device == options.device or options.link == "host"):
        raise ConfigError("--sidecar-mode persistent needs a second card with peer access: use graph or call.")
    experts = load_cold_experts(config, options, weights, placement, scope)
    if resident:
        try:
            return ResidentSidecar(config, options, experts, scope, streams)
        except NotImplementedError as fault:
            raise ConfigError(str(fault)) from None
    if mode == "persistent":
        return PersistentSidecar(config, options, experts, scope, streams)
    return GraphSidecar(config, options, experts, scope, streams)
