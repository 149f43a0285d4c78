"""Copies between cards and with the host in a step, and sidecar calls: what a slower link would be paid for.

found = crossings(store)
found.copies["card_to_card"]        # a step, mean over the usable steps
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution, Question, attribute
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.ops import UNKNOWN, Bools
from stepprof.analyses.ranges import range_info
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

# CUPTI's copy kinds; a copy between two cards is one however its kind is told; others stay on one card
COPIES = """
SELECT op_id, coalesce(bytes, 0) AS bytes,
    CASE WHEN copy_kind = 10 OR (src_device <> dst_device AND least(src_device, dst_device) >= 0) THEN 2
         WHEN copy_kind = 1 THEN 0 WHEN copy_kind = 2 THEN 1 ELSE 3 END AS way
FROM op WHERE activity = 'memcpy'
"""
WAYS = ("host_to_card", "card_to_host", "card_to_card")


@dataclass(frozen=True)
class Crossings:
    """Means per step over the usable steps; `step_us` is their median wall."""

    steps: int
    step_us: float
    calls: float  # sidecar calls that the ranges name, by layer
    copies: dict[str, float]
    bytes: dict[str, float]
    inflation: TracingInflation | None


def crossings(store: Store, question: Question | None = None) -> Crossings:
    """Count them; Refused where the trace has no step with ops."""
    found = attribute(store, question)
    usable = found.steps.usable
    if not usable:
        raise Refused(f"{found.source}: no whole step has ops: record more steps, or name them with --marker.")
    inside = np.isin(found.steps.of_op, usable)
    table = {key: np.asarray(column, dtype=np.int64) for key, column in store.arrays(COPIES).items()}
    mine = np.isin(table["op_id"], found.ops.op_id[inside])
    way, count = table["way"][mine], len(usable)
    copies = np.bincount(way, minlength=4) / count
    size = np.bincount(way, table["bytes"][mine], minlength=4) / count
    return Crossings(
        steps=count,
        step_us=float(np.median(found.steps.wall[usable])) / 1e3,
        calls=_calls(found, inside) / count,
        copies=dict(zip(WAYS, copies.tolist(), strict=False)),
        bytes=dict(zip(WAYS, size.tolist(), strict=False)),
        inflation=found.inflation,
    )


def _calls(found: Attribution, inside: Bools) -> int:
    """Different (step, layer) in which an op lies in a range of the sidecar."""
    layers = np.array([_sidecar_layer(path) for path in found.labels.paths] + [UNKNOWN], dtype=np.int64)
    layer = layers[found.labels.of_op]
    kept = inside & (layer != UNKNOWN)
    return len(np.unique(np.stack([found.steps.of_op[kept], layer[kept]]), axis=1).T)


def _sidecar_layer(path: tuple[str, ...]) -> int:
    """The layer of the sidecar call that a path lies in, UNKNOWN outside calls."""
    for name in reversed(path):
        info = range_info(name)
        if (info.call or info.rule.startswith("sidecar")) and info.layer is not None:
            return info.layer
    return UNKNOWN
