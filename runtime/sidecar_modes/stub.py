"""Mode `stub`: a sidecar whose answer is there at once, for "what would a sidecar that takes no time buy?".

The main card does all it does otherwise (splits, compacts, adds the answer), but nothing is sent, nobody computes
and nobody waits: the answer is zero. Text differs from a real run, so step times are comparable where routing
(`--cold-rate`) and acceptance (`--simulate-acceptance`) are imposed. All figures are tagged simulated.
"""

from __future__ import annotations

import torch

from stepprof.kernels.compact import Cold
from stepprof.runtime.config import Config
from stepprof.runtime.options import Options
from stepprof.runtime.sidecar import NoSidecar, Outbox


class StubSidecar(NoSidecar):
    """Takes rows, answers zero."""

    def __init__(self, config: Config, options: Options) -> None:
        self.outbox: Outbox | None = Outbox(config, options)
        self.sent = self.outbox
        dtype = getattr(torch, config.dtype)
        self.back = torch.zeros(options.max_rows, config.hidden, dtype=dtype, device=options.device)

    def inbox(self, layer: int, rows: int) -> Cold:
        """Views of the layer's buffer."""
        return self.sent.cold(layer, rows)

    def answer(self, layer: int, cold: Cold) -> torch.Tensor:
        """Zero for every row."""
        return self.back[: len(cold.rows)]
