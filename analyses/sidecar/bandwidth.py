"""How fast the sidecar reads its memory: as given, as a bench measured it, or nominal.

given = read_bandwidth("sidecar.json")      # or "4800", GB/s
speed = bandwidth_of(store, calls, given)
speed.gb_per_s, speed.said                  # None where nobody says, and why
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stepprof.analyses.bench.results import Figure, decoded
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.sidecar.calls import Calls
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.store import Store

CARDS_SQL = """
SELECT min(memory_bandwidth), list(DISTINCT name ORDER BY name) FILTER (WHERE name IS NOT NULL)
FROM device WHERE device IN (SELECT unnest(?::INTEGER[]))
"""


@dataclass(frozen=True)
class BenchBandwidth:
    """What a bench measured, GB/s; no cards are the CPU, None where the file does not tell them."""

    gb_per_s: float
    kind: str
    source: str
    cards: tuple[str, ...] | None


@dataclass(frozen=True)
class Bandwidth:
    """GB/s = bytes a ns; `said` tells whose it is, or why there is none."""

    gb_per_s: float | None
    said: str
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class _File(msgspec.Struct):
    bench: str
    gpu: tuple[str, ...] | None = None
    bandwidth_gb_per_s: Figure | None = None


def read_bandwidth(text: str) -> float | BenchBandwidth:
    """The value of --bandwidth: a number, or a bench file that holds one; InputError, UsageError where it is neither."""
    try:
        value = float(text)
    except ValueError:
        return _of_file(text)
    if not 0 < value < math.inf:
        raise UsageError(f"--bandwidth {text} is no amount: give a number above 0.")
    return value


def _of_file(text: str) -> BenchBandwidth:
    if not text.endswith(".json"):
        raise UsageError(
            f"--bandwidth {text} is neither a number of GB/s nor a FILE.json of stepprof bench sidecar -o."
        )
    file = decoded(Path(text), _File)
    figure = file.bandwidth_gb_per_s
    if figure is None or not 0 < figure.value < math.inf:
        raise InputError(
            f"{text} holds no bandwidth_gb_per_s: give a file of stepprof bench sidecar -o FILE, or a number of GB/s."
        )
    return BenchBandwidth(figure.value, figure.kind, Path(text).name, file.gpu)


def bandwidth_of(store: Store, calls: Calls, given: float | BenchBandwidth | None) -> Bandwidth:
    """The bandwidth of the cards that the calls ran on."""
    nominal, names = store.rows(CARDS_SQL, sorted(set(calls.side.tolist()) - {UNKNOWN}))[0]
    if isinstance(given, BenchBandwidth):
        said = f"{given.gb_per_s:,.0f} GB/s ({given.kind} on {_cards(given)}, {given.source})"
        return Bandwidth(given.gb_per_s, said, _elsewhere(given, names or []))
    if given is not None:
        return Bandwidth(given, f"{given:g} GB/s (quoted)")
    if not nominal:
        return Bandwidth(None, "the memory bandwidth of the sidecar is not known")
    return Bandwidth(nominal / 1e9, f"{nominal / 1e9:,.0f} GB/s (nominal, quoted)")


def _cards(given: BenchBandwidth) -> str:
    return "an unnamed machine" if given.cards is None else ", ".join(sorted(set(given.cards))) or "a CPU"


def _elsewhere(given: BenchBandwidth, names: list[str]) -> list[dict[str, Any]]:
    """A warning where the bench ran on other cards than the trace's sidecar."""
    if given.cards is None or not names or set(given.cards) == set(names):
        return []
    text = (
        f"{given.source} was {given.kind} on {_cards(given)}, but the sidecar of this trace is {', '.join(names)}: "
        "floors and headroom are for another card."
    )
    return [{"code": "bandwidth_elsewhere", "count": 1, "text": text}]
