"""The join wait of a call by layer, from the answer of `stepprof breakdown TRACE --sidecar --json` or a CSV file.

    read_waits(Path("sidecar.json")).per_layer        # {0: 31.2, …} µs

The CSV has the columns layer and join_wait_us. Where a layer has several lines (one for each number of rows), their
plain mean counts.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.placement.expert_use import Waits
from stepprof.profiler.errors import InputError

FORMS = "give the --json answer of stepprof breakdown TRACE --sidecar, or a CSV with layer,join_wait_us"


def read_waits(path: Path, every: float | None = None) -> Waits:
    """Waits by layer, `every` for layers that the file lacks; InputError where it is neither form."""
    try:
        text = path.read_text()
        if not text.lstrip().startswith("{"):
            return Waits(_means(csv.DictReader(text.splitlines())), every)
        answer = json.loads(text)
        return Waits(_means(answer["by_layer"]), every, traced=True, inflation=_inflation(answer))
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): {FORMS}.") from None
    except (ValueError, TypeError, KeyError, csv.Error):
        raise InputError(f"{path} holds no join waits by layer: {FORMS}.") from None


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
