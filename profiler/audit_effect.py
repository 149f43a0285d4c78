"""What slower or faster copies would change in a step: latency times copies of a given trace, `audit --trace`.

    effect = copy_effect(measured, crossings, before)

`at_most` is what a step would win if its copies took no time at all: below 5 % of it no setting of the host that
acts on copies is worth a reboot. Against the measurements of another time or host (`--against`) the difference
itself is known, and `predicted` says what it would change. Both are modelled: they take copies to be exposed in full.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stepprof.profiler.audit_measure import Measured
from stepprof.profiler.errors import InputError

BAR = 0.05


@dataclass(frozen=True)
class Crossing:
    """Copies of one way in a step: how many, and how many bytes in all."""

    way: str
    copies: float
    bytes: float


@dataclass(frozen=True)
class CrossingEffect:
    """One way: µs a step that its copies take here, and what they would take there (None without another)."""

    way: str
    copies: float
    bytes: float
    here_us: float
    there_us: float | None


@dataclass(frozen=True)
class Effect:
    """The effect on a step of `step_us`; shares are of it."""

    step_us: float
    calls: float
    ways: list[CrossingEffect]
    unknown: list[str]  # ways that the trace uses and nobody measured
    at_most_us: float
    at_most_share: float
    predicted_us: float | None  # added to a step there; negative: faster
    predicted_share: float | None
    verdict: str
    kind: str = "modelled"


def copy_effect(
    here: list[Measured], step_us: float, calls: float, crossings: list[Crossing], there: list[Measured] | None
) -> Effect:
    """The effect of copies on a step; `calls` are sidecar calls a step, for the reader."""
    used = [crossing for crossing in crossings if crossing.copies > 0]
    known = [c for c in used if _costs(c.way, here) and (there is None or _costs(c.way, there))]
    rows = [
        CrossingEffect(c.way, c.copies, c.bytes, _taken(c, here), None if there is None else _taken(c, there))
        for c in known
    ]
    at_most = sum(row.here_us for row in rows)
    predicted = None if there is None else sum((row.there_us or 0) - row.here_us for row in rows)
    unknown = [c.way for c in used if c not in known]
    share = None if predicted is None else predicted / step_us
    verdict = _verdict(at_most / step_us, share, unknown)
    return Effect(step_us, calls, rows, unknown, at_most, at_most / step_us, predicted, share, verdict)


def _verdict(at_most: float, predicted: float | None, unknown: list[str]) -> str:
    if unknown:
        return f"not known: copies {', '.join(unknown)} were not measured"
    if predicted is not None:
        change = f"{abs(predicted):.1%} of a step {'faster' if predicted < 0 else 'slower'} there"
        return f"{'worth a change' if predicted <= -BAR else 'no change'}: {change} (bar {BAR:.0%})"
    if at_most < BAR:
        return f"no reboot: all copies together are at most {at_most:.1%} of a step (bar {BAR:.0%})"
    return (
        f"open: copies may be up to {at_most:.1%} of a step (bar {BAR:.0%}); measure with the other setting and "
        "give this measurement to --against"
    )


def _costs(way: str, found: list[Measured]) -> tuple[float, float] | None:
    """(µs a small copy, bytes a µs), medians over cards; None where not measured."""
    latency = [fact.value for fact in found if fact.name == f"{way}_latency_us"]
    bandwidth = [fact.value for fact in found if fact.name == f"{way}_bandwidth_gb_per_s"]
    return (statistics.median(latency), statistics.median(bandwidth) * 1e3) if latency and bandwidth else None


def _taken(crossing: Crossing, found: list[Measured]) -> float:
    """µs a step: each copy its latency, and all bytes at the bandwidth; an upper estimate."""
    costs = _costs(crossing.way, found)
    assert costs is not None, f"{crossing=}"
    return crossing.copies * costs[0] + crossing.bytes / costs[1]


def read_measured(path: Path) -> list[Measured]:
    """The measurements in a document of `stepprof audit --measure --json`; InputError where it has none."""
    try:
        rows: Iterable[dict[str, Any]] = json.loads(path.read_text())["measured"]
        found = [replace(Measured(**row), value=float(row["value"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        found = []
    if found and all(fact.value > 0 for fact in found):
        return found
    raise InputError(f"{path} holds no measurements: write it with stepprof audit --measure --json > FILE.")
