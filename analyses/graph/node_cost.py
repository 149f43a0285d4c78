"""What one node of a CUDA graph costs: wall saved per empty node removed from a serial chain.

node cost c = visible gap g + ramp r. The gap is what lies between two ops of a chain; the ramp
(start-up and drain) lies inside their durations, so an op that is fused away takes c with it
and not only g. From a file of `stepprof bench nodes`, else a default for the GPU
(rules/node_costs.toml), said so in `basis`.

    cost = node_cost(graph, Path("nodes.json"))
    cost.cost.value, cost.ramp.low        # ns
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from stepprof.analyses.graph.latencies import in_graph_gap
from stepprof.analyses.graph.step_graph import PROGRAMMATIC, StepGraph
from stepprof.profiler.errors import InputError

FIGURES = ("node_cost_us", "visible_gap_us", "ramp_us")
WAY_OUT = "make one with stepprof bench nodes --json"


@dataclass(frozen=True)
class Interval:
    """A figure with the range it may have, ns."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class NodeCost:
    """c, g and r of one node; `figure` says what c is, `basis` where it comes from."""

    cost: Interval
    gap: Interval
    ramp: Interval
    figure: Literal["measured", "quoted"]
    basis: str


def node_cost(graph: StepGraph, bench: Path | None = None) -> NodeCost:
    """The node cost of the graph's GPU; InputError where the bench file cannot be used for it."""
    if bench is None:
        return _default(graph)
    document = _read(bench)
    if graph.gpu and document.get("gpu") and graph.gpu not in str(document["gpu"]):
        raise InputError(
            f"{bench}: measured on {document['gpu']}, but the trace is of {graph.gpu}: run stepprof bench nodes there."
        )
    rows = _rows(bench, document, "graph_pdl" if _mostly_programmatic(graph) else "graph")
    cost, gap, ramp = (_interval([row[key] for row in rows]) for key in FIGURES)
    return NodeCost(cost, gap, ramp, "measured", f"{bench.name}, {len(rows)} rows, mode {rows[0]['mode']}")


def _mostly_programmatic(graph: StepGraph) -> bool:
    return bool(len(graph.edges) and np.mean(graph.edges.kind == PROGRAMMATIC) > 0.5)


def _default(graph: StepGraph) -> NodeCost:
    """The GPU's entry; the gap is the trace's own median, where it has graphs."""
    text = (files("stepprof.analyses.rules") / "node_costs.toml").read_text()
    entry = next(row for row in tomllib.loads(text)["gpu"] if row["name"] in graph.gpu)
    cost = Interval(*(1000.0 * entry[key] for key in ("value", "low", "high")))
    seen = in_graph_gap(graph)
    gap = max(float(seen), 0.0) if seen is not None else cost.value
    ramp = Interval(*(max(bound - gap, 0.0) for bound in (cost.value, cost.low, cost.high)))
    return NodeCost(
        cost, Interval(gap, gap, gap), ramp, "quoted", f"default for {graph.gpu or 'this GPU'}: {entry['basis']}"
    )


def _read(bench: Path) -> dict[str, Any]:
    try:
        document = json.loads(bench.read_text())
    except OSError as error:
        raise InputError(f"{bench}: cannot be read ({error.strerror}); {WAY_OUT}.") from None
    except ValueError:
        raise InputError(f"{bench}: is not a JSON document; {WAY_OUT}.") from None
    if not isinstance(document, dict) or not isinstance(cast("Any", document).get("rows"), list):
        raise InputError(f"{bench}: holds no rows of node costs; {WAY_OUT}.")
    return cast("dict[str, Any]", document)


def _rows(bench: Path, document: dict[str, Any], mode: str) -> list[dict[str, Any]]:
    """Rows of this mode (else of plain graphs) with the fewest branches: a node cost is that of a serial chain."""
    try:
        rows = [
            {"mode": str(row["mode"]), "branches": int(row["branches"]), **{key: _figure(row[key]) for key in FIGURES}}
            for row in document["rows"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{bench}: a row lacks a figure ({error}); {WAY_OUT}.") from None
    mine = [row for row in rows if row["mode"] == mode] or [row for row in rows if row["mode"] == "graph"]
    if not mine:
        raise InputError(f"{bench}: holds no row of mode graph; {WAY_OUT}.")
    fewest = min(row["branches"] for row in mine)
    return [row for row in mine if row["branches"] == fewest]


def _figure(cell: Any) -> tuple[float, float, float]:
    """(value, low, high) in ns; ValueError where they are no finite numbers in order."""
    value, low, high = (1000.0 * float(cell[key]) for key in ("value", "low", "high"))
    if not (np.isfinite([value, low, high]).all() and low <= value <= high):
        raise ValueError(f"{low} <= {value} <= {high} does not hold")
    return value, low, high


def _interval(figures: Iterable[tuple[float, float, float]]) -> Interval:
    """Median value of several kernels, lowest low, highest high."""
    value, low, high = zip(*figures, strict=True)
    return Interval(float(np.median(value)), min(low), max(high))
