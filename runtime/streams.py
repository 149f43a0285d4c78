"""Side streams of the main card: work that may run beside the main stream.

    with streams.beside("shared", x):     # forks from the main stream
        y = expert(x)
    streams.join("shared")                # the main stream waits for it

On the CPU everything runs in order. Whatever crosses streams is held until `finish`, so that the
allocator gives none of it away while another stream still reads it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch


class Streams:
    """Named side streams, made when first used."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.streams: dict[str, Any] = {}
        self.forked: set[str] = set()
        self.held: list[Any] = []

    @contextmanager
    def beside(self, name: str, *tensors: torch.Tensor) -> Generator[None]:
        """Run the body on the side stream `name`, after all that the main stream holds by now."""
        if self.device.type != "cuda":
            yield
            return
        if name not in self.streams:
            self.streams[name] = torch.cuda.Stream(self.device)
        stream = self.streams[name]
        stream.wait_stream(torch.cuda.current_stream(self.device))
        self.forked.add(name)
        self.held.extend(tensors)
        with torch.cuda.stream(stream):
            yield

    def hold(self, *tensors: torch.Tensor) -> None:
        """Keep what a side stream made until the step ends."""
        if self.device.type == "cuda":
            self.held.extend(tensors)

    def join(self, name: str) -> None:
        """Let the main stream wait for a side stream; nothing where that did not fork."""
        if name in self.forked:
            torch.cuda.current_stream(self.device).wait_stream(self.streams[name])
            self.forked.discard(name)

    def finish(self) -> list[Any]:
        """Join what is still forked and hand over what was held; a captured graph keeps it for its life."""
        for name in sorted(self.forked):
            self.join(name)
        held, self.held = self.held, []
        return held
