"""Which experts are hot (main card) and which cold (sidecar): `Placement.first(config)`, `Placement.read(FILE, config)`.

A placement file is JSON: {"hot": [[expert, …], …]}, one list a layer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.errors import ConfigError


@dataclass(frozen=True)
class Placement:
    """Hot experts by layer, ascending; all others are cold."""

    experts: int
    hot: tuple[tuple[int, ...], ...]

    @classmethod
    def first(cls, config: Config) -> Placement:
        """The first `hot_experts` experts of every layer."""
        return cls(config.experts, (tuple(range(config.hot_experts)),) * config.layers)

    @classmethod
    def read(cls, path: Path, config: Config) -> Placement:
        """From a placement file."""
        try:
            document: Any = json.loads(path.read_text())
            hot = tuple(tuple(sorted({int(e) for e in layer})) for layer in document["hot"])
        except OSError as fault:
            raise ConfigError(f"{path} cannot be read ({fault.strerror}): check --placement.") from None
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                f'{path} is not {{"hot": [[expert, …], …]}}: write one list of experts a layer.'
            ) from None
        if len(hot) != config.layers:
            raise ConfigError(f"{path} places {len(hot)} layers, the model has {config.layers}: add or drop lists.")
        wrong = [e for layer in hot for e in layer if not 0 <= e < config.experts]
        if wrong:
            raise ConfigError(f"{path} names expert {wrong[0]}; experts are 0 to {config.experts - 1}.")
        return cls(config.experts, hot)

    def cold(self, layer: int) -> tuple[int, ...]:
        """Experts that are not hot, ascending."""
        hot = set(self.hot[layer])
        return tuple(e for e in range(self.experts) if e not in hot)

    def slots(self, layer: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """(hot slot, cold slot) of every expert, [E] int32 each, -1 where it is not in that bank."""
        return _slots(self.hot[layer], self.experts, device), _slots(self.cold(layer), self.experts, device)


def _slots(members: tuple[int, ...], experts: int, device: torch.device) -> torch.Tensor:
    slots = torch.full((experts,), -1, dtype=torch.int32)
    slots[list(members)] = torch.arange(len(members), dtype=torch.int32)
    return slots.to(device)
