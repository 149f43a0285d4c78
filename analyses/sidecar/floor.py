"""The least time that reading the experts' weights takes in each call: bytes ÷ bandwidth.

Bytes: quoted (--expert-bytes times the call's experts, or its rows where experts are not told); else the
bytes that op_cost gives for the call's ops (import --costs); else those of copies in the call that carry
neither rows nor answers. Bandwidth: quoted (--bandwidth), else the card's nominal one as the trace records it.
A figure made of quoted or nominal numbers is `modelled`.

    floor = floor_of(store, scene, calls, Quoted(expert_bytes=18_800_000))
    floor.ns        # one entry a call, None where it cannot be known
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.sidecar.bandwidth import BenchBandwidth, bandwidth_of
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.fit import Floats
from stepprof.analyses.sidecar.members import CLOSES, OPENS, Scene
from stepprof.profiler.store import Store

COST_SQL = "SELECT label, sum(coalesce(bytes_read, 0))::DOUBLE AS bytes FROM op_cost GROUP BY label"
CARRIES = (*OPENS, *CLOSES, "signal", "wait")


@dataclass(frozen=True)
class Quoted:
    """What the user says of the sidecar."""

    expert_bytes: float | None = None  # of one expert's weights
    bandwidth: float | BenchBandwidth | None = None  # GB/s = bytes/ns, or a bench file's


@dataclass(frozen=True)
class Floor:
    """The floor of each call, ns; `said` tells where it is from, or why there is none."""

    ns: Floats | None
    said: str
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def floor_of(store: Store, scene: Scene, calls: Calls, quoted: Quoted) -> Floor:
    """The floor of every call."""
    size, whence = _bytes(store, scene, calls, quoted)
    speed = bandwidth_of(store, calls, quoted.bandwidth)
    if size is None or speed.gb_per_s is None:
        lacks = " and ".join([*([whence] if size is None else []), *([speed.said] if speed.gb_per_s is None else [])])
        said = f"no floor: {lacks} (give --expert-bytes N --bandwidth GBPS, or import --costs)."
        return Floor(None, said, [{"code": "floor_unknown", "count": 1, "text": said}])
    return Floor(size / speed.gb_per_s, f"{whence} ÷ {speed.said}, modelled", speed.warnings)


def _bytes(store: Store, scene: Scene, calls: Calls, quoted: Quoted) -> tuple[Floats | None, str]:
    """Bytes of weights that each call reads, and who says so."""
    if quoted.expert_bytes is not None:
        experts = np.where(calls.experts != UNKNOWN, calls.experts, calls.rows)
        what = _counted(calls)
        if (experts == UNKNOWN).any():
            return None, "how many experts or rows each call had is not known"
        return experts * quoted.expert_bytes, f"{quoted.expert_bytes / 1e6:g} MB (quoted) × {what}"
    known = calls.stretches.op != UNKNOWN
    weights = np.array([name not in CARRIES for name in calls.stretches.phases])[calls.stretches.phase] & known
    op, call = calls.stretches.op[weights], calls.stretches.call[weights]
    for size, whence in (
        (_costs(store, scene, op, call), "bytes of op costs"),
        (scene.copies.bytes[op].astype(float), "bytes of copies in the calls"),
    ):
        if size.any():
            total = np.zeros(len(calls))
            np.add.at(total, call, size)
            return total, whence
    return None, "bytes of the experts are not known"


def _counted(calls: Calls) -> str:
    """What stands for the experts of calls; rows are an estimate, since rows may share experts."""
    told, count = int((calls.experts != UNKNOWN).sum()), len(calls)
    if told == count:
        return "experts"
    rows = "rows (one expert each, an estimate: rows that share experts read less)"
    return rows if told == 0 else f"experts ({told:,} of {count:,} calls), else {rows}"


def _costs(store: Store, scene: Scene, op: Ints, call: Ints) -> Floats:
    """Bytes read by each op: what its range (path or innermost) costs, once a call, else what its name costs."""
    told = {str(label): float(size) for label, size in store.rows(COST_SQL)}
    if not told:
        return np.zeros(len(op))
    labels, names = scene.found.labels, scene.found.ops.names
    label = labels.of_op[op]
    by_label = np.array([_first(told, "/".join(p), p[-1]) for p in labels.paths] + [np.nan])[label]
    once = np.zeros(len(op), bool)
    once[np.unique(np.stack([call, label]), axis=1, return_index=True)[1]] = True
    by_name = np.array([_first(told, name) for name in names])[scene.found.ops.name[op]]
    return np.nan_to_num(np.where(np.isnan(by_label), by_name, np.where(once, by_label, 0.0)))


def _first(told: dict[str, float], *keys: str) -> float:
    return next((told[key] for key in keys if key in told), np.nan)


def floors_above(floor: Floor, rows: Ints, length: Ints) -> list[dict[str, Any]]:
    """A warning where floors lie above the calls they are floors of, by their medians of each number of rows.

    A floor that holds for every call holds for the medians, whatever the calls' spread.
    """
    if floor.ns is None:
        return []
    above: list[tuple[float, float, int, int]] = []
    for size in np.unique(rows).tolist():
        at = rows == size
        least, taken = float(np.median(floor.ns[at])) / 1e3, float(np.median(length[at])) / 1e3
        if least > taken:
            above.append((least, taken, size, int(at.sum())))
    if not above:
        return []
    count = sum(calls for *_, calls in above)
    least, taken, size, _ = max(above, key=lambda one: one[0] / max(one[1], 1e-3))
    where = "rows unknown" if size == UNKNOWN else f"rows {size}"
    text = (
        f"The floors of {count:,} calls are above the median call of as many rows ({where}: {least:,.1f} µs, and a call "
        f"takes {taken:,.1f}): the bandwidth or the bytes of an expert cannot be right, so no headroom is named."
    )
    return [{"code": "floor_above_call", "count": count, "text": text}]
