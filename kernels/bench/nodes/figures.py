"""From wall times and stamps to node cost, visible gap and ramp, each with its interval: arithmetic, no GPU.

One repeat gives one slope, one gap, one ramp; the interval is the t interval of their means over the repeats of
this process, 95 %. What differs between processes and clocks it cannot cover.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stepprof.kernels.intervals import interval


@dataclass(frozen=True)
class Stamped:
    """What the global timer told about one run of a chain, µs, means over nodes and branches."""

    gap: float  # from a node's last block to the first block of the next node on the same branch
    inside: float  # from a node's first block to its last
    period: float  # from a node's start to that of the next


@dataclass(frozen=True)
class Repeat:
    """One repeat of a chain: wall in µs by nodes of a branch, and its stamps."""

    walls: Mapping[int, float]
    stamped: Stamped

    @property
    def cost(self) -> float:
        """Wall saved per node removed, µs, by least squares over the lengths."""
        lengths, walls = list(self.walls), list(self.walls.values())
        return statistics.linear_regression(lengths, walls).slope


def stamped(stamps: torch.Tensor) -> Stamped:
    """`stamps` [branches, nodes, blocks, 2] in ns: when each block began and ended."""
    begin, end = stamps[..., 0].amin(2), stamps[..., 1].amax(2)  # [branches, nodes]
    parts = (begin[:, 1:] - end[:, :-1], end - begin, begin[:, 1:] - begin[:, :-1])
    # integers until here: a time since 1970 in ns is more than a double holds
    return Stamped(*(part.double().mean().item() / 1e3 for part in parts))


def row_figures(repeats: Sequence[Repeat]) -> dict[str, Any]:
    """The figures of one row; `ramp_us` is node cost less visible gap, repeat by repeat."""
    longest = max(repeats[0].walls)
    return {
        "node_cost_us": interval([one.cost for one in repeats]),
        "visible_gap_us": interval([one.stamped.gap for one in repeats]),
        "ramp_us": interval([one.cost - one.stamped.gap for one in repeats]),
        "repeats": len(repeats),
        "wall_per_node_us": interval([one.walls[longest] / longest for one in repeats]),
        "stamped_period_us": interval([one.stamped.period for one in repeats]),
        "stamped_inside_us": interval([one.stamped.inside for one in repeats]),
    }
