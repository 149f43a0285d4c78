"""How fast bytes get to the card: as given, as an audit measured it, or what the PCIe link that the audit sees can carry.

    link_speed("50GB/s"), link_speed("400Gbit/s"), link_speed("audit.json"), link_speed(None)

B are bytes, b and bit are bits. A measured speed is that of large copies from card to card, where the sidecar holds
the experts; from the host where no second card was measured; of several ways the slowest. The PCIe figure is the
link's own limit (PCI-SIG, after encoding), so copies take somewhat longer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stepprof.profiler.audit import audit
from stepprof.profiler.audit_effect import read_measured
from stepprof.profiler.audit_fact import Fact
from stepprof.profiler.errors import InputError, UsageError

LANE_GB_PER_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}  # one direction
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SIZE = re.compile(r"([0-9.]+)\s*([KMGTkmgt]?)(B?)")
SPEED = re.compile(r"([0-9.]+)\s*([KMGTkmgt]?)(B|b|[Bb]its?)(?:/s|ps)?")
AMBIGUOUS = re.compile(r"[0-9.]+\s*[kmgt]?b(?:/s)?")
WAYS = {"card_to_card": "card to card", "host_to_card": "host to card"}


@dataclass(frozen=True)
class LinkSpeed:
    """Bytes a second, and where the figure is from."""

    bytes_per_s: float
    source: str
    kind: Literal["quoted", "measured"] = "quoted"


def link_speed(given: str | None, facts: Callable[[], list[Fact]] = audit) -> LinkSpeed:
    """UsageError where it is no speed, or none is given and no link is seen."""
    if given is not None:
        return _measured(Path(given)) if given.endswith(".json") else LinkSpeed(_bytes_per_s(given), "--link")
    for fact in facts():
        if fact.name == "pcie_generation" and (found := re.search(r"(\d+) x(\d+)\)", fact.value or "")):
            lanes, each = int(found[2]), LANE_GB_PER_S.get(int(found[1]))
            if each:
                return LinkSpeed(lanes * each * 1e9, f"PCIe {found[1]} x{lanes} of GPU {fact.gpu}, by the audit")
    raise UsageError("no PCIe link of a GPU can be seen here: say how fast experts are copied with --link 50GB/s.")


def _measured(path: Path) -> LinkSpeed:
    found = read_measured(path)
    for way, words in WAYS.items():
        speeds = [fact.value for fact in found if fact.name == f"{way}_bandwidth_gb_per_s"]
        if speeds and all(map(math.isfinite, speeds)):
            return LinkSpeed(min(speeds) * 1e9, f"{words}, {path.name}", "measured")
    raise InputError(
        f"{path} holds no bandwidth of copies to a card: write it with stepprof audit --measure --json > FILE.json."
    )


def _bytes_per_s(text: str) -> float:
    """50GB/s, 400Gbit/s, 400Gb/s, 400Gbps: decimal units, 8 bits a byte."""
    if AMBIGUOUS.fullmatch(text.strip()):
        raise UsageError(f"--link {text} may be bits or bytes: write 50GB/s or 400Gbit/s.")
    found = SPEED.fullmatch(text.strip())
    if found and (value := _number(found)):
        return value if found[3] == "B" else value / 8
    raise UsageError(
        f"--link {text}: give a speed above 0 with its unit, as in 50GB/s or 400Gbit/s, or the FILE.json of stepprof "
        "audit --measure --json."
    )


def number_of_bytes(text: str, option: str) -> float:
    """18.8MB, 10GB, 512: decimal units."""
    if re.fullmatch(r"[0-9.]+\s*[KMGTkmgt]?(b|[Bb]its?)", text.strip()):
        raise UsageError(f"{option} {text}: b stands for bits: give bytes, as in 18.8MB or 10GB.")
    found = SIZE.fullmatch(text.strip())
    if found and (value := _number(found)):
        return value
    raise UsageError(f"{option} {text}: give a size above 0, as in 18.8MB or 10GB.")


def _number(found: re.Match[str]) -> float:
    """The first two groups as one number; 0 where the digits are none."""
    try:
        return float(found[1]) * UNITS[found[2].upper()]
    except ValueError:
        return 0.0
