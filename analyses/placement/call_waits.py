"""What each sidecar call made the main card wait: the CSV of calls of `stepprof breakdown TRACE --sidecar --csv FILE`.

    told = call_waits("calls.csv", csv.DictReader(stream))
    told.calls[4, 0].wait_us          # of step 4 (its index in the trace), layer 0

A wait counts as it does for the step (`counted_wait_ns`), so that sums are those of the steps. Calls without a layer,
and those that had no rows or no experts, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

COUNTED = "counted_wait_ns"  # the column that tells such a file from one of layers


@dataclass(frozen=True)
class CallWait:
    """Of all calls of one step and layer: their wait as counted, and how many experts they had (None: not known)."""

    wait_us: float
    experts: int | None


@dataclass(frozen=True)
class CallWaits:
    """Calls by (step, layer), and the name of their file for sentences."""

    source: str
    calls: Mapping[tuple[int, int], CallWait]

    @cached_property
    def by_layer(self) -> dict[int, float]:
        """Mean wait of a layer's calls, µs."""
        return _means((layer, call.wait_us) for (_, layer), call in self.calls.items())

    @cached_property
    def by_experts(self) -> dict[tuple[int, int], float]:
        """Mean wait of a layer's calls with as many experts, µs, by (layer, experts)."""
        known = ((layer, call.experts, call.wait_us) for (_, layer), call in self.calls.items())
        return _means(((layer, experts), wait) for layer, experts, wait in known if experts is not None)


def call_waits(source: str, lines: Iterable[Mapping[str, str]]) -> CallWaits:
    """Lines as calls; ValueError, TypeError or KeyError where they are none."""
    found: dict[tuple[int, int], CallWait] = {}
    for line in lines:
        if line["layer"] == "" or "0" in (line["rows"], line["experts"]):
            continue
        key, one = (int(line["step"]), int(line["layer"])), _call(line)
        found[key] = _both(found[key], one) if key in found else one
    if not found:
        raise ValueError("no layer")
    return CallWaits(source, found)


def _call(line: Mapping[str, str]) -> CallWait:
    if (wait_ns := int(line[COUNTED])) < 0:
        raise ValueError(f"{wait_ns=}")
    return CallWait(wait_ns / 1e3, int(line["experts"]) if line["experts"] else None)


def _both(one: CallWait, two: CallWait) -> CallWait:
    """Two calls of a layer in one step: their counted waits add up, and so do the experts of those that tell."""
    told = [call.experts for call in (one, two) if call.experts is not None]
    return CallWait(one.wait_us + two.wait_us, sum(told) if told else None)


def _means(waits: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """The mean of each key's waits."""
    found: defaultdict[Key, list[float]] = defaultdict(list)
    for key, wait in waits:
        found[key].append(wait)
    return {key: sum(mine) / len(mine) for key, mine in found.items()}
