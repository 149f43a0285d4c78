"""The sidecar: cold experts on a second card, behind one interface with three modes.

    sidecar.prepare(T)                  # on the host, before a pass or a replay
    sidecar.begin(T)                    # first thing of a pass; from here on may be captured
    box = sidecar.inbox(layer, T)       # where the split writes the cold rows
    sidecar.send(layer, cold)           # main goes on with its hot experts
    y = sidecar.answer(layer, cold)     # main waits; y[i] belongs to row cold.rows[i]
    sidecar.check()                     # on the host, before the pass's tokens are used

Modes (runtime/sidecar_modes/): `graph`, both cards in the step's graph; `call`, a process that wakes on a flag;
`persistent`, a worker that never leaves the second card; `stub`, an answer of zero in no time; `off`, every expert is hot.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from stepprof.kernels import expert_gemm
from stepprof.kernels.compact import Cold
from stepprof.runtime.config import Config
from stepprof.runtime.mailbox import Layout, layout_of
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope


class Sidecar(Protocol):
    """What the mixture layers and the engine see."""

    outbox: Outbox | None

    def prepare(self, rows: int) -> None:
        """Say on the host how many rows the coming pass has."""
        ...

    def pause(self) -> None:
        """End what would keep a card from being synchronised; `prepare` starts it again."""
        ...

    def begin(self, rows: int) -> None:
        """Open the round."""
        ...

    def inbox(self, layer: int, rows: int) -> Cold | None:
        """Where the cold rows of a layer go."""
        ...

    def send(self, layer: int, cold: Cold) -> None:
        """Publish them."""
        ...

    def answer(self, layer: int, cold: Cold) -> torch.Tensor | None:
        """Their experts' sum [T, D], rows beyond `held` undefined; None where nothing can be cold."""
        ...

    def check(self) -> None:
        """Raise a SidecarError if the pass met a fault."""
        ...

    def close(self) -> None:
        """End whatever runs."""
        ...


class Outbox:
    """Cold rows of every layer on the main card, one buffer a layer so that they outlive the pass."""

    def __init__(self, config: Config, options: Options) -> None:
        self.config, self.max_rows = config, options.max_rows
        size = self.layout(self.max_rows).size
        self.buffer = torch.zeros(config.layers, size, dtype=torch.uint8, device=options.device)  # [L, bytes]

    def layout(self, rows: int) -> Layout:
        """How a buffer is divided for a pass of so many rows."""
        return layout_of(self.config, rows)

    def cold(self, layer: int, rows: int) -> Cold:
        """Views of a layer's buffer."""
        return self.layout(rows).views(self.buffer[layer])

    def packed(self, layer: int, rows: int) -> torch.Tensor:
        """The bytes that are sent."""
        return self.buffer[layer, : self.layout(rows).size]

    def counts(self, rows: int) -> list[tuple[int, int]]:
        """(rows, distinct experts) of each layer's last call; one copy to the host, and no op a layer.

        It stands between two steps, where every microsecond is one of tokens/s.
        """
        layout = self.layout(rows)
        heads = self.buffer[:, : layout.head].cpu()
        held_at, slots_at, weights_at, _ = layout.offsets
        held = heads[:, held_at : held_at + 4].contiguous().view(torch.int32).numpy()[:, 0]  # [L]
        slots = heads[:, slots_at:weights_at].contiguous().view(torch.int32).numpy()[:, : rows * self.config.top_k]
        used = np.arange(rows * self.config.top_k) < held[:, None] * self.config.top_k  # [L, T·A]
        found = np.sort(np.where(used, slots, -1), axis=1)
        experts = np.sum((np.diff(found, axis=1, prepend=-1) != 0) & (found >= 0), axis=1)
        return list(zip(held.tolist(), experts.tolist(), strict=True))

    def uses(self, rows: int) -> list[list[tuple[int, int]]]:
        """(slot of the cold bank, rows that chose it) of each layer's last call, ascending; one copy to the host."""
        layout = self.layout(rows)
        heads = self.buffer[:, : layout.head].cpu()
        return [_uses(layout.views(torch.cat([head, head.new_zeros(layout.size - layout.head)]))) for head in heads]


def _uses(cold: Cold) -> list[tuple[int, int]]:
    slots = cold.slots[: int(cold.held)]
    chosen, rows = slots[slots >= 0].unique(return_counts=True)  # a row chooses an expert once
    return list(zip(chosen.tolist(), rows.tolist(), strict=True))


class NoSidecar:
    """Every expert is hot."""

    outbox: Outbox | None = None

    def prepare(self, rows: int) -> None:
        """Nothing to say."""

    def pause(self) -> None:
        """Nothing runs."""

    def begin(self, rows: int) -> None:
        """Nothing to open."""

    def inbox(self, layer: int, rows: int) -> Cold | None:
        """No box."""

    def send(self, layer: int, cold: Cold) -> None:
        """Nothing to send."""

    def answer(self, layer: int, cold: Cold) -> torch.Tensor | None:
        """Nothing to add."""

    def check(self) -> None:
        """Nothing can fail."""

    def close(self) -> None:
        """Nothing runs."""


class ColdExperts:
    """The cold banks of all layers on the sidecar's device, and what a call computes."""

    def __init__(
        self, config: Config, options: Options, banks: list[tuple[torch.Tensor, torch.Tensor]], scope: Scope
    ) -> None:
        self.limit, self.reduce, self.banks, self.scope = config.swiglu_limit, options.reduce, banks, scope
        self.dtype = getattr(torch, config.dtype)
        self.device = torch.device(options.sidecar_device)

    def __call__(self, layer: int, cold: Cold) -> torch.Tensor:
        """[T, D] -> [T, D] in the model's dtype; rows beyond `held` cost nothing."""
        w_in, w_out = self.banks[layer]  # [n, 2·I, D], [n, D, I]
        with self.scope.sidecar(layer, "gate_up", "sidecar_gemm", "gemm", self.device):
            h = expert_gemm.up_gate(cold.x, cold.slots, w_in, limit=self.limit, count=cold.held)
        if self.reduce == "atomic":
            with self.scope.sidecar(layer, "down", "sidecar_gemm", "gemm", self.device):
                y = expert_gemm.down_atomic(h, cold.slots, cold.weights, w_out, count=cold.held)
            with self.scope.sidecar(layer, "reduce", "sidecar_reduce", "elementwise", self.device):
                return y.to(self.dtype)
        with self.scope.sidecar(layer, "down", "sidecar_gemm", "gemm", self.device):
            parts = expert_gemm.down(h, cold.slots, cold.weights, w_out, count=cold.held)
        with self.scope.sidecar(layer, "reduce", "sidecar_reduce", "reduce", self.device):
            return expert_gemm.reduce(parts, self.dtype, count=cold.held)
