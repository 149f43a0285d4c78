"""Traces written as what a host thread does: launch, replay graphs, wait.

host = Host().run("norm", "gemm").sync()
steps, said = host.period()              # what by_period makes of it
counts(host.launches())                  # [("launches/0", 2), ...]
"""

from __future__ import annotations

from stepprof.analyses.ops import load_ops
from stepprof.analyses.periods import by_launches, by_period
from stepprof.analyses.steps import Method, Steps, make_steps
from tests.trace_builder import TraceBuilder

LAYER = ["norm", "gemm", "rope", "attention", "gemm", "add", "norm", "gemm", "silu", "gemm", "add"]
TAIL = ["norm", "lm_head", "argmax"]
STEP = LAYER * 24 + TAIL  # 267 ops


class Host:
    """A host thread that launches as fast as it can: a call takes 2 ns, an op 5 ns, ops run one after another."""

    def __init__(self, trace: TraceBuilder | None = None, thread: int = 1) -> None:
        self.trace, self.thread, self.now, self.gpu, self.nodes = trace or TraceBuilder(), thread, 0, 0, 0

    def run(self, *names: str) -> Host:
        """Single ops."""
        for name in names:
            call, (start, end) = self._call(), self._op()
            self.trace.kernel(name, start, end, call=call, thread=self.thread)
        return self

    def copy(self, way: str) -> Host:
        call, (start, end) = self._call(), self._op()
        self.trace.memcpy(way, start, end, call=call, thread=self.thread)
        return self

    def replay(self, *names: str, first_node: int = 1) -> Host:
        """A graph of one node a name."""
        graph = self.trace.graph_launch(self._call(), thread=self.thread)
        for node, name in enumerate(names, first_node):
            graph.kernel(name, *self._op(), node=node)
        return self

    def sync(self) -> Host:
        """Wait for the GPU, then think for 20 ns."""
        end = max(self.now, self.gpu) + 1
        self.trace.api("cudaStreamSynchronize", self.now, end, thread=self.thread)
        self.now = end + 20
        return self

    def launches(self) -> tuple[Steps | None, str]:
        return self._found("launches")

    def period(self) -> tuple[Steps | None, str]:
        return self._found("period")

    def _found(self, method: Method) -> tuple[Steps | None, str]:
        store = self.trace.store()
        ops = load_ops(store)
        grouping, said = (by_launches if method == "launches" else by_period)(store, ops)
        return make_steps(ops, grouping) if grouping else None, said

    def _call(self) -> tuple[int, int]:
        self.now += 2
        return self.now - 2, self.now

    def _op(self) -> tuple[int, int]:
        start = max(self.now + 1, self.gpu)
        self.gpu = start + 5
        return start, self.gpu


def counts(found: tuple[Steps | None, str]) -> list[tuple[str, int]]:
    """Labels and numbers of ops; incomplete ones carry a mark."""
    steps, said = found
    assert steps is not None, said
    marks = ["?" if "incomplete" in flags else "" for flags in steps.flags]
    return [(label + m, int(n)) for label, m, n in zip(steps.label, marks, steps.windows.ops, strict=True)]


def numbered(method: str, count: int, ops: int) -> list[tuple[str, int]]:
    return [(f"{method}/{i}", ops) for i in range(count)]
