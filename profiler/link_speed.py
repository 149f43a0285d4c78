"""How fast bytes get to the card: as given, or what the PCIe link that the audit sees can carry.

    link_speed("50GB/s"), link_speed(None)

The audit's figure is the link's own limit (PCI-SIG, after encoding), so copies take somewhat longer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from stepprof.profiler.audit import audit
from stepprof.profiler.audit_fact import Fact
from stepprof.profiler.errors import UsageError

LANE_GB_PER_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}  # one direction
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class LinkSpeed:
    """Bytes a second, and where the figure is from; quoted either way."""

    bytes_per_s: float
    source: str


def link_speed(given: str | None, facts: Callable[[], list[Fact]] = audit) -> LinkSpeed:
    """UsageError where none is given and no link is seen."""
    if given is not None:
        return LinkSpeed(number_of_bytes(given.removesuffix("/s"), "--link"), "--link")
    for fact in facts():
        if fact.name == "pcie_generation" and (found := re.search(r"(\d+) x(\d+)\)", fact.value or "")):
            lanes, each = int(found[2]), LANE_GB_PER_S.get(int(found[1]))
            if each:
                return LinkSpeed(lanes * each * 1e9, f"PCIe {found[1]} x{lanes} of GPU {fact.gpu}, by the audit")
    raise UsageError("no PCIe link of a GPU can be seen here: say how fast experts are copied with --link 50GB/s.")


def number_of_bytes(text: str, option: str) -> float:
    """18.8MB, 10GB, 512: decimal units."""
    found = re.fullmatch(r"([0-9.]+)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    try:
        value = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    except ValueError:
        value = 0.0
    if value <= 0:
        raise UsageError(f"{option} {text}: give a size above 0, as in 18.8MB or 10GB.")
    return value
