"""What it costs to move the experts of a placement while the server runs, and after how many steps that pays.

    relocation(placed, expert_bytes=18_800_000, link_bytes_per_s=50e9).break_even_steps

The whole time of the copy is charged, as if decoding stood still meanwhile: a copy beside the steps costs less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stepprof.analyses.placement.choice import Placed


@dataclass(frozen=True)
class Relocation:
    """Modelled from bytes and the link's speed; no steps are given where nothing is saved."""

    bytes: int
    time_us: float
    saved_us_per_step: float
    break_even_steps: int | None


def relocation(placed: Placed, expert_bytes: int, link_bytes_per_s: float) -> Relocation:
    """Of all chosen experts, each of `expert_bytes` in both its matrices."""
    size = len(placed.chosen) * expert_bytes
    time_us, saved = size / link_bytes_per_s * 1e6, placed.saved_us
    return Relocation(size, time_us, saved, math.ceil(time_us / saved - 1e-9) if saved > 0 else None)
