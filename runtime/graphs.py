"""Runs the parts of a step: eagerly, or captured once as a CUDA graph and replayed.

A capture is relaxed, since it spans both cards, and follows two warm-up rounds whose changes to the state are
undone (rows they wrote to caches lie beyond the sequences and are written again). After each run the host waits
with a time limit and asks the sidecar for faults before anybody reads a token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from stepprof.runtime.driver import CaptureView
from stepprof.runtime.errors import SidecarError
from stepprof.runtime.options import Options
from stepprof.runtime.sidecar import Sidecar
from stepprof.runtime.streams import Streams
from stepprof.runtime.truth import Truth

WARM_UPS = 2


@dataclass
class Runner:
    """Runs functions that launch on the main card."""

    options: Options
    sidecar: Sidecar
    streams: Streams
    truth: Truth | None
    graphs: dict[str, Any] = field(default_factory=dict[str, Any])
    held: list[Any] = field(default_factory=list[Any])
    written: bool = False  # the truth is that of the first step
    timed: bool = False  # ask the GPU how long each replay takes
    gpu_ns: int | None = None  # what it said of the last one

    def __post_init__(self) -> None:
        self.device = torch.device(self.options.device)
        self.stream: Any = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        self.closed = False

    def run(self, name: str, rows: int, body: Callable[[], None], live: list[torch.Tensor]) -> None:
        """Run `body`, which changes nothing but caches and `live`; captured where the options say so."""
        if self.stream is None or not self.options.graphs:
            self.eager(rows, self._recorded(body))
            return
        if name not in self.graphs:
            self._capture(name, rows, body, live)
        self.sidecar.prepare(rows)
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        self._replay(self.graphs[name])

    def eager(self, rows: int, body: Callable[[], None]) -> None:
        """Run `body` now."""
        self.sidecar.prepare(rows)
        if self.stream is None:
            body()
        else:
            self.stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(self.stream):
                body()
                held = self.streams.finish()
            self._settle()
            del held
        self.sidecar.check()

    def close(self) -> None:
        """Drop the graphs, end the sidecar."""
        if not self.closed:
            self.closed = True
            self.graphs.clear()
            self.sidecar.close()

    def _replay(self, graph: Any) -> None:
        """With CUDA events around it where `timed`; they stand outside the graph, which stays as it is."""
        clock = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.timed else []
        with torch.cuda.stream(self.stream):
            for event in clock[:1]:
                event.record(self.stream)
            graph.replay()
            for event in clock[1:]:
                event.record(self.stream)
        self._settle()
        if clock:
            self.gpu_ns = round(clock[0].elapsed_time(clock[1]) * 1e6)  # from ms

    def _capture(self, name: str, rows: int, body: Callable[[], None], live: list[torch.Tensor]) -> None:
        before = [part.clone() for part in live]
        for _ in range(WARM_UPS):
            self.eager(rows, body)
        self.sidecar.pause()
        for part, old in zip(live, before, strict=True):
            part.copy_(old)
        torch.cuda.synchronize(self.device)

        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="relaxed"):
            if self.truth is not None:
                self.truth.start(CaptureView(self.stream.cuda_stream))
            body()
            self.held += self.streams.finish()
            if self.truth is not None:
                self.truth.finish()
        self.graphs[name] = graph

    def _recorded(self, body: Callable[[], None]) -> Callable[[], None]:
        """The first step, with its truth taken down; later ones as they are."""
        if self.truth is None or self.written:
            return body
        self.written, truth = True, self.truth

        def recorded() -> None:
            truth.start(None)
            body()
            truth.finish()

        return recorded

    def _settle(self) -> None:
        """Wait for the main card, but not for ever; then ask for faults."""
        done = torch.cuda.Event()
        done.record(self.stream)
        limit = time.monotonic() + self._limit_s()
        while not done.query():
            if time.monotonic() > limit:
                raise SidecarError(
                    f"the step did not end within {self._limit_s():g} s: a card has stalled; "
                    "its tokens were thrown away: start again, or raise --limit-ms."
                )
        self.sidecar.check()

    def _limit_s(self) -> float:
        # one stalled call ends all waits of a step; a healthy step takes milliseconds
        return 10 + 2 * self.options.limit_ms / 1e3
