"""The truth file (`--truth FILE`): every op of a step in order, with role, kind, layer, device, and the true edges.

One JSON document: {"ops": [{"order", "role", "kind", "layer", "device", "phase", "nodes"}], "edges": [[from, to]],
"node_types": {…}, "graph": bool}. Where the step is captured as a CUDA graph, `nodes` are the numbers of the graph
nodes that the op made (in the order of creation) and `edges` are the graph's own, between those numbers; the driver
is asked while the capture runs. Eagerly, and on the CPU, ops have no nodes and there are no edges.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stepprof.runtime.driver import CaptureView


@dataclass
class OpTruth:
    """One op; `nodes` is filled while it runs."""

    role: str
    kind: str
    layer: int | None
    device: str
    phase: str
    nodes: list[int] = field(default_factory=list[int])


class Truth:
    """Collects the ops of one step: `start`, the step's ops, `finish`, then `write`."""

    def __init__(self) -> None:
        self.ops: list[OpTruth] = []
        self.edges: list[tuple[int, int]] = []
        self.node_types: dict[int, str] = {}
        self.view: CaptureView | None = None
        self.number: dict[int, int] = {}  # node handle -> number
        self.recording = False

    def start(self, view: CaptureView | None) -> None:
        """Begin a step; `view` is given while a graph is being captured."""
        self.ops, self.edges, self.number, self.node_types = [], [], {}, {}
        self.view, self.recording = view, True

    def begin(self, op: OpTruth) -> None:
        """Nodes made since the last op belong to none (forks and joins of streams make none)."""
        if self.recording:
            self._claim([])

    def end(self, op: OpTruth) -> None:
        """Nodes made since `begin` are this op's."""
        if self.recording:
            self._claim(op.nodes)
            self.ops.append(op)

    def finish(self) -> None:
        """Read the edges, while the graph is still being captured."""
        if self.view is not None:
            self._claim([])
            pairs = self.view.edges()
            self.edges = sorted((self.number[a], self.number[b]) for a, b in pairs)
        self.view, self.recording = None, False

    def write(self, path: Path) -> None:
        """One JSON document."""
        ops = [{"order": i, **asdict(op)} for i, op in enumerate(self.ops)]
        document = {"ops": ops, "edges": self.edges, "node_types": self.node_types, "graph": bool(self.node_types)}
        path.write_text(json.dumps(document) + "\n")

    def _claim(self, nodes: list[int]) -> None:
        if self.view is None:
            return
        for handle in self.view.nodes():
            if handle not in self.number:
                self.number[handle] = len(self.number)
                self.node_types[self.number[handle]] = self.view.node_type(handle)
                nodes.append(self.number[handle])
