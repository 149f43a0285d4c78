"""One chain on the card: equal kernels one after the other on one branch or several, launched or replayed.

chain = Chain(Card(device), Shape("gemv", "graph_pdl", branches=4, length=600, units=2), stamps=False)
chain.run()            # µs without its launch
chain.stamps()         # [branches, length, blocks, 2]
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import torch

from stepprof.kernels.bench.nodes.timing import FIRST_HOLD_NS, held_microseconds
from stepprof.kernels.driver import Graph, Launch, Pointer
from stepprof.kernels.nvrtc import compiled

Mode = Literal["stream", "graph", "graph_pdl"]
SOURCE = Path(__file__).with_name("chains.cu")
COLUMNS, BANKS, SMALL = 1024, 2, 1024  # as in chains.cu
THREADS = 256
# blocks of a node: gemv reads 4,096 rows of 4 KiB, one warp a row
BLOCKS = {"empty": 1, "small": 1, "gemv": 512}
MOST_BRANCHES = 4


@dataclass(frozen=True)
class Shape:
    """What a chain is made of: `length` nodes a branch, `units` of work a node."""

    kernel: str
    mode: Mode
    branches: int
    length: int
    units: int


@dataclass
class Card:
    """A GPU with the memory that all chains share."""

    device: torch.device
    hold_ns: dict[Shape, int] = field(default_factory=dict[Shape, int])

    @cached_property
    def streams(self) -> list[Any]:
        """One a branch."""
        return [torch.cuda.Stream(self.device) for _ in range(MOST_BRANCHES)]

    @cached_property
    def weights(self) -> torch.Tensor:
        """Matrices of gemv."""
        return torch.rand(BANKS, BLOCKS["gemv"] * THREADS // 32, COLUMNS, device=self.device)

    @cached_property
    def vectors(self) -> torch.Tensor:
        """Each branch's own numbers."""
        return torch.rand(MOST_BRANCHES, COLUMNS + BLOCKS["gemv"] * THREADS // 32, device=self.device)

    @cached_property
    def hold(self) -> Launch:
        """A kernel that ends after so many ns."""
        return Launch(self.kernel("hold").func, 1, 1, (ctypes.c_ulonglong(FIRST_HOLD_NS),))

    def kernel(self, name: str, programmatic: bool = False, stamps: bool = False) -> Any:
        """A kernel of chains.cu."""
        return _built(self.device, name, programmatic, stamps)

    def timer_steps(self, count: int = 256) -> list[int]:
        """How far the global timer moves each time it moves, ns."""
        steps = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.kernel("ticks")(grid=(1, 1, 1), block=(1, 1, 1), args=[steps, count])
        return steps.tolist()


@cache
def _built(device: torch.device, name: str, programmatic: bool, stamps: bool) -> Any:
    with torch.cuda.device(device):
        return compiled(SOURCE.read_text(), name, {"PDL": int(programmatic), "STAMPS": int(stamps)})


class Chain:
    """A chain that can be run again and again."""

    def __init__(self, card: Card, shape: Shape, kernel: Any, root: Any, stamps: bool = False) -> None:
        self.card, self.shape, self.graph = card, shape, None
        blocks = BLOCKS[shape.kernel]
        size = (shape.branches, shape.length, blocks, 2) if stamps else (1,)
        self.memory = torch.zeros(size, dtype=torch.int64, device=card.device)
        self.launches = [self._launch(kernel, branch, stamps) for branch in range(shape.branches)]
        self.root = Launch(root.func, 1, 32, self.launches[0].arguments)
        torch.cuda.synchronize(card.device)
        if shape.mode != "stream":
            self.graph = Graph(self.stream.cuda_stream, self._enqueue)

    @property
    def stream(self) -> Any:
        """The first branch's stream, which the others are forked from."""
        return self.card.streams[0]

    def run(self) -> float:
        """µs from the end of the hold to the end of the chain."""
        hold = self.card.hold_ns.get(self.shape, FIRST_HOLD_NS)
        taken, self.card.hold_ns[self.shape] = held_microseconds(self._held, hold)
        return taken

    def edges(self) -> tuple[int, int]:
        """(edges of the graph, programmatic ones)."""
        assert self.graph is not None, f"{self.shape=}"
        return self.graph.edges(2 * self.shape.branches * self.shape.length + 64)

    def stamps(self) -> torch.Tensor:
        """Of the latest run, [branches, length, blocks, 2] in ns."""
        return self.memory

    def close(self) -> None:
        """Free the graph."""
        torch.cuda.synchronize(self.card.device)
        if self.graph is not None:
            self.graph.close()

    def _launch(self, kernel: Any, branch: int, stamps: bool) -> Launch:
        memory = self.memory[branch].data_ptr() if stamps else 0
        weights = self.card.weights.data_ptr() if self.shape.kernel == "gemv" else 0
        vector = self.card.vectors[branch].data_ptr()
        numbers = (ctypes.c_int(0), ctypes.c_int(self.shape.units), ctypes.c_int(0))
        arguments = (Pointer(vector), Pointer(weights), Pointer(memory), *numbers)
        return Launch(kernel.func, BLOCKS[self.shape.kernel], THREADS, arguments)

    def _held(self, hold_ns: int) -> float | None:
        """One run; None where the hold was over before all was queued."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.card.hold.arguments[0].value = hold_ns
        self.card.hold(self.stream.cuda_stream)
        begin.record(self.stream)
        if self.graph is None:
            self._enqueue()
        else:
            self.graph.replay(self.stream.cuda_stream)
        end.record(self.stream)
        queued = not begin.query()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 if queued else None

    def _enqueue(self) -> None:
        """Launch a root, then all nodes, branch by branch in turn; end on the first stream."""
        streams = self.card.streams[: self.shape.branches]
        self.root(self.stream.cuda_stream)
        for other in streams[1:]:
            other.wait_stream(self.stream)
        for node in range(self.shape.length):
            for stream, launch in zip(streams, self.launches, strict=True):
                _, _, _, number, _, first = launch.arguments
                number.value, first.value = node, node * self.shape.units
                # a branch's first node waits for the root in full: a programmatic edge needs one stream
                launch(stream.cuda_stream, self.shape.mode == "graph_pdl" and node > 0)
        for other in streams[1:]:
            self.stream.wait_stream(other)
