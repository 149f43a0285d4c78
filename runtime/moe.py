"""The mixture layer: hot experts here, cold ones on the sidecar, a shared expert beside them.

route → split hot and cold → publish → hot experts and shared expert meanwhile → wait → accumulate.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import linear

from stepprof.kernels import compact, expert_gemm, moe_front, router
from stepprof.kernels.swiglu import swiglu
from stepprof.runtime.config import Config
from stepprof.runtime.loader import Loader, fill_bank
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import Sidecar
from stepprof.runtime.streams import Streams


@dataclass(frozen=True)
class ColdRate:
    """Imposed routing (`--cold-rate`): simulated. `flags` [layers, max_rows] bool is drawn anew each step."""

    flags: torch.Tensor
    rate: float

    @classmethod
    def make(cls, config: Config, options: Options, device: torch.device) -> ColdRate | None:
        """None where the router decides."""
        if options.cold_rate is None:
            return None
        return cls(torch.zeros(config.layers, options.max_rows, dtype=torch.bool, device=device), options.cold_rate)

    def refill(self, generator: torch.Generator) -> None:
        """Flag this share of the rows of each layer."""
        self.flags.bernoulli_(self.rate, generator=generator)


class Moe:
    """One mixture layer of the model."""

    def __init__(
        self,
        config: Config,
        options: Options,
        load: Loader,
        scope: Scope,
        streams: Streams,
        placement: Placement,
        cold_rate: ColdRate | None,
        layer: int,
    ) -> None:
        c, device = config, load.device
        self.config, self.options, self.scope, self.side, self.layer = c, options, scope, streams, layer
        self.gate = load("gate", c.experts, c.hidden)
        self.bias = load("bias", c.experts, std=0.1, exact=True)
        self.shared_in = load("shared_in", 2 * c.shared_width, c.hidden)
        self.shared_out = load("shared_out", c.hidden, c.shared_width)
        self.w_in, self.w_out = fill_bank(load, placement.hot[layer], c.hidden, c.expert_width)
        self.hot_slot, self.cold_slot = placement.slots(layer, device)
        self.cold_rate = cold_rate
        self.hot_list = torch.tensor(placement.hot[layer], dtype=torch.int32, device=device)
        self.cold_list = torch.tensor(placement.cold(layer), dtype=torch.int32, device=device)
        self.fused = "moe_front" in options.fuse

    def __call__(self, x: torch.Tensor, sidecar: Sidecar) -> torch.Tensor:
        """[T, D] -> [T, D]"""
        with self.side.beside("shared", x):
            shared = self._shared(x)
        self.side.hold(shared)
        weights, hot, cold = self._front(x, sidecar.inbox(self.layer, len(x)))
        sidecar.send(self.layer, cold)
        out = self._hot(x, hot, weights, shared)
        answer = sidecar.answer(self.layer, cold)
        if answer is None:
            return out
        with self.scope.combine(self.layer):
            return compact.add_rows(out, answer, cold.rows)

    def _front(self, x: torch.Tensor, inbox: compact.Cold | None) -> tuple[torch.Tensor, torch.Tensor, compact.Cold]:
        """Route and split: weights [T, A], hot slots [T, A], the cold rows in the inbox."""
        c, slots = self.config, (self.hot_slot, self.cold_slot)
        if self.fused:
            with self.scope.op("router", "gemm", self.layer):
                return moe_front.moe_front(x, self.gate, self.bias, *slots, c.top_k, c.route_scale, out=inbox)
        with self.scope.op("router", "gemm", self.layer):
            logits = linear(x, self.gate)  # [T, E]
        with self.scope.op("router", "topk", self.layer):
            weights, experts = router.route(logits, self.bias, c.top_k, c.route_scale)
        if self.cold_rate is not None:
            with self.scope.op("moe_route", "elementwise", self.layer):
                flags = self.cold_rate.flags[self.layer, : len(x)]
                experts = compact.impose(experts, flags, self.hot_list, self.cold_list)
        with self.scope.op("moe_route", "copy", self.layer):
            hot, cold = compact.split(x, weights, experts, *slots, out=inbox)
        return weights, hot, cold

    def _hot(self, x: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
        """Answers of the hot experts and the shared one: [T, D]"""
        layer = self.layer
        with self.scope.op("expert_gemm", "gemm", layer):
            h = expert_gemm.up_gate(x, slots, self.w_in, limit=self.config.swiglu_limit)  # [T, A, I]
        if self.options.reduce == "atomic":
            with self.scope.op("expert_gemm", "gemm", layer):
                total = expert_gemm.down_atomic(h, slots, weights, self.w_out)  # [T, D] float32
            self.side.join("shared")
            with self.scope.op("combine", "elementwise", layer):
                return torch.add(total, shared, out=torch.empty_like(x))
        with self.scope.op("expert_gemm", "gemm", layer):
            parts = expert_gemm.down(h, slots, weights, self.w_out)  # [T, A, D]
        self.side.join("shared")
        with self.scope.op("combine", "reduce", layer):
            return expert_gemm.reduce(parts, x.dtype, add=shared)

    def _shared(self, x: torch.Tensor) -> torch.Tensor:
        """The shared expert: [T, D]"""
        with self.scope.op("dense_gemm", "gemm", self.layer):
            both = linear(x, self.shared_in)
        with self.scope.op("activation", "elementwise", self.layer):
            h = swiglu(both, limit=self.config.swiglu_limit)
        with self.scope.op("dense_gemm", "gemm", self.layer):
            return linear(h, self.shared_out)
