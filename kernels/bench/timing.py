"""How long a call takes on the GPU, with inputs that no cache still holds.

Calls with inputs of their own, more than four times the L2 cache together, are captured one after the other in a
CUDA graph; the graph is replayed between two events. So a time includes what a node of a graph costs, and no launch
from the host.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch

MOST = 4096  # calls in a graph; smaller inputs than fill the caches with these stay in them
REPLAYS, ROUNDS = 3, 5


def sets_needed(size: int, device: torch.device) -> int:
    """How many sets of inputs and results of `size` bytes are more than four times the L2 cache."""
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    return min(MOST, max(2, 4 * cache // max(1, size) + 1))


def microseconds(calls: Sequence[Callable[[], Any]]) -> float:
    """Median over rounds of the mean time of a call."""
    calls[0]()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [call() for call in calls]  # kept, so that each has memory of its own
    graph.replay()
    times = [_replayed(graph) / len(calls) for _ in range(ROUNDS)]
    del results
    return statistics.median(times)


def _replayed(graph: torch.cuda.CUDAGraph) -> float:
    """Microseconds of a replay."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(REPLAYS):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000 / REPLAYS


def copy_microseconds(size: int, device: torch.device) -> float:
    """A copy that reads and writes `size` bytes in all, rotating likewise."""
    half = max(1, size // 2)
    count = sets_needed(2 * half, device)
    pairs = [[torch.zeros(half, dtype=torch.uint8, device=device) for _ in range(2)] for _ in range(count)]
    return microseconds([lambda pair=pair: pair[0].copy_(pair[1], non_blocking=True) for pair in pairs])
