"""What a sequence leaves behind, by position: window rings, compressed rows, index keys, and the draft head's rings.

A row that was written for a token that was not kept is written again before anybody may see it: a compressed row is
visible from the last token of its group on, and every pass writes all positions from its first one on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from stepprof.runtime.config import Config
from stepprof.runtime.options import Options

Tensors = dict[int, torch.Tensor]


@dataclass
class Rows:
    """The rows of one pass, and where they go; every tensor [T] int64."""

    tokens: torch.Tensor
    sequences: torch.Tensor
    positions: torch.Tensor
    ring: torch.Tensor  # slot in the window rings
    visible: Tensors = field(default_factory=dict[int, torch.Tensor])  # ratio -> compressed rows a query may see
    slot: Tensors = field(default_factory=dict[int, torch.Tensor])  # ratio -> where its group's row goes
    group: Tensors = field(default_factory=dict[int, torch.Tensor])  # ratio -> position of its group's first token


class Cache:
    """All caches of a batch of B sequences."""

    def __init__(self, config: Config, options: Options, device: torch.device) -> None:
        self.config, self.batch = config, options.batch
        # the draft head may look a block ahead of the last row
        self.ring = config.window + options.max_rows + options.k
        dtype = getattr(torch, config.dtype)

        def zeros(rows: int, width: int) -> torch.Tensor:
            return torch.zeros(self.batch, rows, width, device=device, dtype=dtype)

        dh = config.head_dim
        self.window = [zeros(self.ring, dh) for _ in range(config.layers)]  # [B, ring, Dh] each
        self.draft_window = [zeros(self.ring, dh) for _ in range(config.draft_layers)]
        self.raw = {i: zeros(self.ring, 2 * dh) for i in config.kv_sources}  # compressor input
        self.compressed = {i: zeros(self.capacity(config.ratios[i]), dh) for i in config.kv_sources}
        self.index_keys = {i: zeros(self.capacity(config.ratios[i]), config.index_dim) for i in config.index_sources}
        self.ratios = sorted({ratio for ratio in config.ratios if ratio})

    def capacity(self, ratio: int) -> int:
        """Compressed rows of one sequence, and one more where rows of unfinished groups go."""
        return -(-self.config.max_context // ratio) + 1

    def rows(self, tokens: torch.Tensor, sequences: torch.Tensor, positions: torch.Tensor) -> Rows:
        """Where these rows go and what they may see."""
        rows = Rows(tokens, sequences, positions, positions % self.ring)
        for ratio in self.ratios:
            ended = positions + 1
            done = ended % ratio == 0
            rows.visible[ratio] = ended // ratio
            rows.group[ratio] = positions - positions % ratio
            rows.slot[ratio] = torch.where(done, positions // ratio, self.capacity(ratio) - 1)
        return rows

    def bytes(self) -> int:
        """Memory held."""
        parts = [*self.window, *self.draft_window, *self.raw.values()]
        parts += [*self.compressed.values(), *self.index_keys.values()]
        return sum(part.nbytes for part in parts)
