"""A program on two cards made in code: captured ops with their ranges, replayed in steps.

    p = Program().step(0, 100)
    a = p.op("router", 0, 10, "layer/1/router")
    p.op("gather", 16, 20, "sidecar/1", "sidecar/1/gather", device=1, after=[a])
    answer = p.sidecar()

Times of ops count from the start of their step. An op waits for those in `after` (recorded graph edges);
`edges=False` leaves all edges out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from stepprof.analyses.attribution import Attribution, attribute
from stepprof.analyses.rules import load_rules
from stepprof.analyses.sidecar.answer import SidecarQuestion, sidecar
from stepprof.analyses.sidecar.calls import Calls, find_calls
from stepprof.analyses.sidecar.joins import Joins, find_joins
from stepprof.analyses.sidecar.phases import Pieces, cut
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.analyses.sidecar.scene import make_scene
from stepprof.profiler.store import Store
from tests.trace_builder import TraceBuilder

FIRST = 1_000_000  # ns; the capture lies before
PITCH = 10_000


class Program:
    """Nodes are numbered from 1 in the order of their ops."""

    def __init__(self, edges: bool = True) -> None:
        self.trace, self.edges = TraceBuilder(), edges
        self.nodes, self.start = 0, FIRST
        self.graph: Any = None

    def step(self, n: int, length: int, at: int | None = None) -> Self:
        """A step of this length, `PITCH` after the one before it."""
        self.start = FIRST + n * PITCH if at is None else at
        self.trace.range(f"step/{n}", self.start - 2, self.start + length)
        self.graph = self.trace.graph_launch(call=(self.start - 1, self.start))
        return self

    def op(self, name: str, start: int, end: int, *path: str, after: Sequence[int] = (), **columns: Any) -> int:
        """A kernel, or a copy where `way` says so; gives its node."""
        self.nodes += 1
        at = 8 * self.nodes
        for depth, text in enumerate(path):
            self.trace.range(text, at + depth, at + 7 - depth)
        self.trace.capture_node(self.nodes, at + len(path))
        for node in after if self.edges else ():
            self.trace.edge(node, self.nodes)
        columns = {"node": self.nodes} | columns
        start, end = self.start + start, self.start + end
        if way := columns.pop("way", None):
            self.graph.memcpy(way, start, end, **columns)
        else:
            self.graph.kernel(name, start, end, **columns)
        return self.nodes

    def copy_in(self, start: int, end: int, *path: str, card: int = 1, **columns: Any) -> int:
        """A copy from the main card, which records it."""
        return self.op("", start, end, *path, way="Peer-to-Peer", src_device=0, dst_device=card, **columns)

    def copy_out(self, start: int, end: int, *path: str, card: int = 1, **columns: Any) -> int:
        """A copy back, which the other card records."""
        where = {"device": card, "src_device": card, "dst_device": 0}
        return self.op("", start, end, *path, way="Peer-to-Peer", **where, **columns)

    def call(
        self,
        layer: int,
        *,
        rows: int,
        fork: int,
        hot: int,
        work: int = 12,
        at: int = 0,
        early: int = 0,
        called: int = 0,
    ) -> int:
        """One marked call of `work` + 8 ns: main works from `fork` to `hot`, both end in an op that adds.

        The other card's times are told `early` ns early; the op that adds is no part of the graph where `called` says
        when the host launches it.
        """
        name, mark = f"sidecar/{layer} rows={rows}", f"sidecar/{layer}"
        a = self.op("router", at, at + fork, f"layer/{layer}/router")
        b = self.op("hot_gemm", at + fork, at + hot, f"layer/{layer}/expert_gemm", after=[a])
        c = self.copy_in(at + fork + 2, at + fork + 4, name, f"{mark}/copy_in", after=[a])
        first = at + fork + 6
        d = self.op("w_gemm", first - early, first - early + work, name, f"{mark}/up", device=1, after=[c])
        e = self.copy_out(first - early + work + 1, first - early + work + 4, name, f"{mark}/copy_out", after=[d])
        late = max(at + hot, first + work + 4) + 3
        if called:
            start, at = self.start + late, self.start + called
            self.trace.kernel("add", start, start + 2, call=(at, at + 1))
            return e
        return self.op("add", late, late + 2, f"layer/{layer}/accumulate", after=[b, e])

    def found(self) -> tuple[Store, Attribution]:
        """The run, accounted for."""
        store = self.trace.store()
        return store, attribute(store)

    def sidecar(self, question: SidecarQuestion | None = None, chosen: Sequence[int] | None = None) -> Sidecar:
        """The whole answer."""
        return sidecar(*self.found(), chosen, question)

    def calls(self, chosen: Sequence[int] | None = None) -> tuple[Calls, Joins, Pieces]:
        """Calls, joins and pieces."""
        return calls_of(*self.found(), chosen)


def two_sidecars() -> Program:
    """Main is ready at 20, one card at 36, the other at 38; one op adds both answers."""
    p = Program().step(0, 100)
    a = p.op("router", 0, 10)
    ends = [p.op("hot_gemm", 10, 20, after=[a])]
    for card, start in ((1, 12), (2, 14)):
        c = p.copy_in(start, start + 2, "sidecar/1/copy_in", card=card, after=[a])
        d = p.op("w_gemm", start + 4, start + 20, "sidecar/1/up", device=card, after=[c])
        ends.append(p.copy_out(start + 22, start + 24, "sidecar/1/copy_out", card=card, after=[d]))
    p.op("add", 40, 42, "layer/1/accumulate", after=ends)
    return p


def calls_of(store: Store, found: Attribution, chosen: Sequence[int] | None = None) -> tuple[Calls, Joins, Pieces]:
    """Calls, joins and pieces of a run."""
    steps = list(found.steps.usable if chosen is None else chosen)
    scene = make_scene(store, found, steps, load_rules())
    calls = find_calls(store, scene, steps)
    joins = find_joins(scene, calls)
    return calls, joins, cut(calls, joins)


def phases(pieces: Pieces, call: int = 0) -> dict[str, int]:
    """ns of each phase of a call."""
    total: dict[str, int] = {}
    for number, phase, ns in zip(pieces.call, pieces.phase, pieces.ns, strict=True):
        if number == call:
            total[pieces.phases[phase]] = total.get(pieces.phases[phase], 0) + int(ns)
    return total
