"""Join waits, by call or by layer, from a file that `stepprof breakdown TRACE --sidecar` writes, or a CSV file.

    read_waits(Path("calls.csv")).calls               # of --csv: what each call waited
    read_waits(Path("sidecar.json")).per_layer        # of --json: {0: 31.2, …} µs, means

A CSV of layers has the columns layer and join_wait_us. Where a layer has several lines (one for each number of rows),
their plain mean counts.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.placement.call_waits import COUNTED, CallWaits, call_waits
from stepprof.profiler.errors import InputError

FORMS = (
    "give the CSV of calls that stepprof breakdown TRACE --sidecar --csv FILE writes, the answer of its --json, or a CSV "
    "with layer,join_wait_us"
)


@dataclass(frozen=True)
class Waits:
    """Mean join wait of a call in µs, by layer; `every` where a layer is not named (None: it must be)."""

    per_layer: Mapping[int, float]
    every: float | None = None
    traced: bool = False  # told by a trace, whose steps tracing made longer by `inflation`
    inflation: TracingInflation | None = None
    calls: CallWaits | None = None  # what each call waited, where that is known


def read_waits(path: Path, every: float | None = None) -> Waits:
    """The waits of a file, `every` for layers that it lacks; InputError where it has none of the forms."""
    try:
        text = path.read_text()
        if not text.lstrip().startswith("{"):
            return _of_csv(path, csv.DictReader(text.splitlines()), every)
        answer = json.loads(text)
        return Waits(_means(answer["by_layer"]), every, traced=True, inflation=_inflation(answer))
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): {FORMS}.") from None
    except (ValueError, TypeError, KeyError, csv.Error):
        raise InputError(f"{path} holds no join waits by layer: {FORMS}.") from None


def _of_csv(path: Path, lines: csv.DictReader[str], every: float | None) -> Waits:
    """A table of calls or of layers, told apart by the header; calls are those of a trace."""
    if COUNTED not in (lines.fieldnames or ()):
        return Waits(_means(lines), every)
    calls = call_waits(path.name, lines)
    return Waits(calls.by_layer, every, traced=True, calls=calls)


def _inflation(answer: Mapping[str, Any]) -> TracingInflation | None:
    """What tracing did to the steps of the answer; answers of before it was told have none."""
    if answer.get("tracing_inflation") is None:
        return None
    between = answer.get("tracing_inflation_interval")
    interval = None if between is None else (float(between[0]), float(between[1]))
    return TracingInflation(float(answer["tracing_inflation"]), interval)


def _means(lines: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    waits: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        if line["layer"] is None:
            continue  # calls whose layer the trace does not tell
        wait = float(line["join_wait_us"])
        if not (math.isfinite(wait) and wait >= 0):
            raise ValueError(f"{wait=}")
        waits[int(line["layer"])].append(wait)
    if not waits:
        raise ValueError("no layer")
    return {layer: sum(mine) / len(mine) for layer, mine in waits.items()}
