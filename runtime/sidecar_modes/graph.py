"""Mode `graph`: the sidecar's ops lie in the step's own graph, joined to the main card's by events.

A copy stream of the main card carries rows there, a stream of the second card computes and carries the answer
back; main waits only where it adds it. A call without cold rows still has its ops; they find `held` 0 and leave.
The same code runs in order on the CPU and on one card.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from stepprof.kernels.compact import Cold
from stepprof.profiler import marks
from stepprof.runtime.config import Config
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import ColdExperts, Outbox
from stepprof.runtime.streams import Streams


class GraphSidecar:
    """Both cards in one program."""

    def __init__(self, config: Config, options: Options, experts: ColdExperts, scope: Scope, streams: Streams) -> None:
        self.experts, self.scope, self.streams = experts, scope, streams
        self.main, self.device = torch.device(options.device), experts.device
        self.outbox: Outbox | None = Outbox(config, options)
        self.sent = self.outbox
        self.inbox_there = torch.zeros_like(self.sent.buffer[0], device=self.device)
        self.back = torch.zeros(options.max_rows, config.hidden, dtype=experts.dtype, device=self.main)
        self.staging = _staging(self.sent.buffer[0], self.back) if options.link == "host" else None
        self.side: Any = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        # what is allocated over there while a graph is captured stays out of everybody else's hands
        self.pool = _pool_of(self.device) if self.side is not None and self.device != self.main else None

    def prepare(self, rows: int) -> None:
        """Nothing to say: shapes are part of the graph."""

    def pause(self) -> None:
        """Nothing runs on its own."""

    def begin(self, rows: int) -> None:
        """Nothing to open: events order the calls."""

    def inbox(self, layer: int, rows: int) -> Cold:
        """Views of the layer's buffer."""
        return self.sent.cold(layer, rows)

    def send(self, layer: int, cold: Cold) -> None:
        """The whole call, beside the main stream."""
        rows = len(cold.rows)
        packed = self.sent.packed(layer, rows)
        there = self.inbox_there[: len(packed)]
        with self._beside(), marks.mark(marks.sidecar_call(layer)):
            with self.scope.sidecar(layer, "copy_in", "sidecar_copy", "copy", self.main):
                _carry(there, packed, None if self.staging is None else self.staging[0])
            y = self.experts(layer, self.sent.layout(rows).views(there))
            with self.scope.sidecar(layer, "copy_out", "sidecar_copy", "copy", self.device):
                _carry(self.back[:rows], y, None if self.staging is None else self.staging[1])
        self.streams.hold(y)

    def answer(self, layer: int, cold: Cold) -> torch.Tensor:
        """Main waits here."""
        if self.side is not None:
            torch.cuda.current_stream(self.main).wait_stream(self.side)
        self.streams.join("sidecar")
        return self.back[: len(cold.rows)]

    def check(self) -> None:
        """A fault of either card is a fault of the graph; the engine's time limit catches a stall."""

    def close(self) -> None:
        """Nothing runs on its own."""

    @contextmanager
    def _beside(self) -> Generator[None]:
        """Run the body on the copy stream of the main card and the stream of the second."""
        if self.side is None:
            yield
            return
        self.side.wait_stream(torch.cuda.current_stream(self.main))
        pool = nullcontext() if self.pool is None else torch.cuda.use_mem_pool(self.pool, self.device)
        with self.streams.beside("sidecar"), torch.cuda.stream(self.side), pool:
            yield


def _pool_of(device: torch.device) -> Any:
    """A pool of that card's memory; it belongs to the card that is current when it is made."""
    with torch.cuda.device(device):
        return torch.cuda.MemPool()


def _staging(*like: torch.Tensor) -> list[torch.Tensor]:
    """Host memory for one tensor of each kind, pinned where a GPU is."""
    pinned = any(part.is_cuda for part in like)
    return [torch.zeros_like(part, device="cpu", pin_memory=pinned) for part in like]


def _carry(there: torch.Tensor, here: torch.Tensor, through: torch.Tensor | None) -> None:
    """Copy between cards, or through host memory; streams are ordered by events."""
    if through is None:
        there.copy_(here, non_blocking=True)
        return
    stop = through[: len(here)]
    stop.copy_(here, non_blocking=True)
    if here.is_cuda and there.is_cuda:
        torch.cuda.current_stream(there.device).wait_stream(torch.cuda.current_stream(here.device))
    there.copy_(stop, non_blocking=True)
