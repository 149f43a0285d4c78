"""What what-if takes for granted when it edits: node cost, bandwidth, traffic of ops; each with its bounds.

assume = Assumptions(node_cost=cost, costs={"gemm_kernel": Traffic(100, 10)}, gpus={0: "NVIDIA H200"})
replace(assume, node_cost_at="low").node_ns          # the bound that one source of doubt takes
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from stepprof.analyses.graph.node_cost import Interval, NodeCost
from stepprof.analyses.graph.step_graph import Nodes
from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.whatif.op_selection import paths
from stepprof.analyses.whatif.proposal_model import Given
from stepprof.profiler.errors import UsageError

At = Literal["value", "low", "high"]
NO_COST = Interval(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Traffic:
    """Bytes that an op moves through the memory of its card."""

    read: int
    written: int


@dataclass(frozen=True)
class Assumptions:
    """Figures behind the edits; `*_at` choose the bound of one source of doubt for an interval."""

    node_cost: NodeCost
    costs: Mapping[str, Traffic] = field(default_factory=dict[str, Traffic])  # op name or range path -> its traffic
    gpus: Mapping[int, str] = field(default_factory=dict[int, str])  # card -> product name
    boundary_ns: int | None = None  # the trace's own graph boundary, None where it has none
    row_ms: Given | None = None  # cost of a draft row on record
    k: int | None = None  # drafts of a step today
    node_cost_at: At = "value"
    bandwidth_at: At = "value"
    given_at: At = "value"

    @property
    def node_ns(self) -> int:
        """What one node less on a chain saves: gap and ramp."""
        return round(getattr(self.node_cost.cost, self.node_cost_at))

    def of(self, given: Given) -> float:
        """The figure of the file at the bound in question."""
        return float(getattr(given, self.given_at))

    def bandwidth(self, device: int, given: Given | None) -> float:
        """Bytes a ns (GB/s) of a card; UsageError where neither the file nor the table knows it."""
        found = given or quoted_bandwidth(self.gpus.get(device, ""))
        if found is None:
            raise UsageError(
                f"the memory bandwidth of card {device} ({self.gpus.get(device) or 'unknown GPU'}) is not known: "
                "give bandwidth_gb_s."
            )
        return float(getattr(found, self.bandwidth_at))

    def traffic(self, nodes: Nodes) -> tuple[Ints, Ints, Bools]:
        """Bytes read and written by each node, and where they are known, [nodes].

        Costs go by the op's name, else by its range path where no other op carries that path.
        """
        path = paths(nodes)
        once = {text for text, count in zip(*np.unique(path, return_counts=True), strict=True) if count == 1}
        found = [
            self.costs.get(name) or (self.costs.get(label) if label in once else None)
            for name, label in zip(nodes.name, path, strict=True)
        ]
        read, written = (
            np.array([getattr(one, key) if one else 0 for one in found], dtype=np.int64) for key in ("read", "written")
        )
        return read, written, np.array([one is not None for one in found], dtype=bool)


def quoted_bandwidth(gpu: str) -> Given | None:
    """The makers' peak as value and high, the share that copies reach of it as low; None for other GPUs."""
    for entry in _table():
        if gpu and entry["name"] in gpu:
            return Given(entry["peak"], entry["low"], entry["peak"])
    return None


@cache
def _table() -> list[dict[str, Any]]:
    text = (files("stepprof.analyses.rules") / "bandwidths.toml").read_text()
    return tomllib.loads(text)["gpu"]
