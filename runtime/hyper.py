"""Hyper-connections around the sublayers: each `Boundary` ends one sublayer and begins the next.

state = first.open(streams)              # before the first sublayer
state = boundary.cross(state, out)       # out [T, D] is the answer of the sublayer that ends here
state.x                                  # [T, D] the normed input of the next one
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from stepprof.kernels import mhc
from stepprof.runtime.config import Config
from stepprof.runtime.loader import Loader
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.streams import Streams


@dataclass(frozen=True)
class Mixed:
    """Between two sublayers."""

    streams: torch.Tensor  # [T, S, D]
    x: torch.Tensor  # [T, D] normed
    post: torch.Tensor  # [T, S]
    comb: torch.Tensor  # [T, S, S]


class Boundary:
    """The weights of one mix, and the ops that lead into it."""

    def __init__(
        self, config: Config, options: Options, load: Loader, scope: Scope, streams: Streams, layer: int | None
    ) -> None:
        count, width = config.streams, config.streams * config.hidden
        self.fn = load("fn", count * (count + 2), width, exact=True)
        self.scale = load.ones("scale", 3, exact=True)
        self.base = load("base", count * (count + 2), std=0.5, exact=True)
        self.norm = load.ones("norm", config.hidden)
        self.config, self.scope, self.side, self.layer = config, scope, streams, layer
        self.fused, self.beside = "boundary" in options.fuse, options.mhc_stream

    def open(self, streams: torch.Tensor) -> Mixed:
        """Mix the streams into a sublayer's input: [T, S, D] -> Mixed."""
        with self.scope.op("mhc", "gemm", self.layer):
            logits = mhc.mix_logits(streams, self.fn, eps=self.config.eps)  # [T, S·(S+2)]
        mix = (self.scale, self.base, self.norm)
        if not self.beside:
            with self.scope.op("mhc", "norm", self.layer):
                return Mixed(streams, *mhc.pre(streams, logits, *mix, self.config.sinkhorn, eps=self.config.eps))
        with self.side.beside("mhc", logits):
            post, comb = self._post_weights(logits)
        self.side.hold(post, comb)
        with self.scope.op("mhc", "norm", self.layer):
            return Mixed(streams, mhc.pre_norm(streams, logits, *mix, eps=self.config.eps), post, comb)

    def cross(self, state: Mixed, out: torch.Tensor) -> Mixed:
        """End the sublayer that answered `out` [T, D], begin the next."""
        if not self.fused:
            return self.open(self.close(state, out))
        with self.scope.op("mhc", "gemm", self.layer):
            old = (state.streams, out, state.post, state.comb)
            new = (self.fn, self.scale, self.base, self.norm, self.config.sinkhorn)
            return Mixed(*mhc.boundary(*old, *new, eps=self.config.eps))

    def close(self, state: Mixed, out: torch.Tensor) -> torch.Tensor:
        """Mix the answer back into the streams: [T, S, D]."""
        self.side.join("mhc")
        with self.scope.op("mhc", "elementwise", self.layer):
            return mhc.post_mix(state.streams, out, state.post, state.comb)

    def _post_weights(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with self.scope.op("mhc", "elementwise", self.layer):
            return mhc.post_weights(logits, self.scale, self.base, self.config.sinkhorn, eps=self.config.eps)
