"""What one sample of a kernel bench is: a replay of a graph of calls, a call alone on the GPU, or one on the CPU.

    InGraph(calls).sample(i)      # µs of a call, mean over a graph in which they follow one another
    Isolated(calls, device).sample(i)   # µs of the i-th call alone, GPU events around it

Calls have inputs of their own, so that what one reads no cache still holds from the call before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stepprof.kernels.pad import pad

IN_GRAPH = "mean of the calls of a CUDA graph, which follow one another with cold caches, GPU events around a replay"
ISOLATED = "one call alone with cold caches, GPU events around it; its launch is hidden behind a spin"
HOST = "one call on the CPU, by the host's clock"
AHEAD_US = 200.0  # two launches and an event from Python take less

Calls = Sequence[Callable[[], Any]]


class InGraph:
    """All calls captured once, one after the other."""

    def __init__(self, calls: Calls) -> None:
        self.count = len(calls)
        self.calls = calls  # kept: a replay reads the inputs that they hold
        with torch.no_grad():
            for call in calls:
                call()  # compiles, and sets up what a capture must not
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.results = [call() for call in calls]  # kept, so that each has memory of its own

    def sample(self, i: int) -> float:
        """Replay, whichever sample it is."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / self.count


class Isolated:
    """Calls launched one by one."""

    def __init__(self, calls: Calls, device: torch.device) -> None:
        self.calls, self.ground = calls, torch.empty(1, device=device)
        with torch.no_grad():
            calls[0]()

    @torch.no_grad()
    def sample(self, i: int) -> float:
        """The i-th call, all in turn."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        pad(self.ground, AHEAD_US)
        start.record()
        self.calls[i % len(self.calls)]()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3


class OnHost:
    """Calls on the CPU."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    @torch.no_grad()
    def sample(self, i: int) -> float:
        """The i-th call, all in turn."""
        start = time.perf_counter_ns()
        self.calls[i % len(self.calls)]()
        return (time.perf_counter_ns() - start) / 1e3
