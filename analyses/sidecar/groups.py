"""Calls by rows: how long they take, and what of them is which phase and kind.

everything, *by_rows = groups(waits, pieces, floor)
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.sidecar.floor import Floor
from stepprof.analyses.sidecar.phases import GAP, PIECE_KINDS, Pieces
from stepprof.analyses.sidecar.result import Group, PhaseKinds
from stepprof.analyses.sidecar.waits import Waits

EXPERT_PHASES = ("gather", "up_gate", "activation", "down", "gemm", "serve")
IDLE = (GAP, "wait")


def groups(waits: Waits, pieces: Pieces, floor: Floor) -> list[Group]:
    """All calls, then those of each number of rows, the fewest first; calls that do not say come last."""
    calls = waits.calls
    sizes = np.unique(calls.rows)
    sizes = [*sizes[sizes != UNKNOWN].tolist(), *([UNKNOWN] if (calls.rows == UNKNOWN).any() else [])]
    every = np.arange(len(calls))
    picked = [(None, every), *((rows, np.flatnonzero(calls.rows == rows)) for rows in sizes)]
    return [group_of(at, waits, pieces, floor, rows) for rows, at in picked]


def group_of(at: Ints, waits: Waits, pieces: Pieces, floor: Floor, rows: int | None = None) -> Group:
    """These calls; `rows` where all have so many."""
    calls, joins, length = waits.calls, waits.joins, pieces.length[at] / 1e3
    p50, p95, p99 = np.percentile(length, [50, 95, 99]).tolist()
    mine = np.isin(pieces.call, at)
    known = at[joins.op[at] != UNKNOWN]
    kinds = _means(pieces.kind[mine], pieces.ns[mine], PIECE_KINDS, len(at))
    return Group(
        rows=None if rows in (None, UNKNOWN) else rows,
        calls=len(at),
        p50_us=p50,
        p95_us=p95,
        p99_us=p99,
        max_us=float(length.max()),
        mean_us=float(pieces.length[at].sum()) / 1e3 / len(at),
        phases_mean_us=_means(pieces.phase[mine], pieces.ns[mine], pieces.phases, len(at)),
        kinds_mean_us=kinds,
        phase_kinds_mean_us={phase.phase: phase.kinds for phase in phase_kinds(pieces, at)},
        parts_mean_us=_parts(kinds),
        floor_us=None if floor.ns is None else float(floor.ns[at].mean()) / 1e3,
        join_wait_us=float(joins.wait[at].mean()) / 1e3,
        join_wait_us_per_step=waits.per_step(at),
        away_us=float((joins.resumes - calls.start)[known].mean()) / 1e3 if len(known) else None,
    )


def _means(code: Ints, ns: Ints, names: list[str] | tuple[str, ...], count: int) -> dict[str, float]:
    total = np.zeros(len(names), dtype=np.int64)
    np.add.at(total, code, ns)
    return {names[i]: int(total[i]) / 1e3 / count for i in np.flatnonzero(total).tolist()}


def _parts(kinds: dict[str, float]) -> dict[str, float]:
    """Copying, computing and idle time."""
    copying = kinds.get("copy", 0.0)
    idle = sum(us for kind, us in kinds.items() if kind in IDLE)
    return {"copying": copying, "computing": sum(kinds.values()) - copying - idle, "gaps": idle}


def phase_kinds(pieces: Pieces, at: Ints) -> list[PhaseKinds]:
    """Every phase of these calls with its kinds, in the order in which they come."""
    mine, count, width = np.isin(pieces.call, at), max(len(at), 1), len(PIECE_KINDS)
    total = np.zeros(len(pieces.phases) * width, dtype=np.int64)
    np.add.at(total, (pieces.phase * width + pieces.kind)[mine], pieces.ns[mine])
    table = total.reshape(-1, width)
    return [
        PhaseKinds(
            phase,
            int(row.sum()) / 1e3 / count,
            {PIECE_KINDS[k]: int(row[k]) / 1e3 / count for k in np.argsort(-row, kind="stable").tolist() if row[k]},
        )
        for phase, row in zip(pieces.phases, table, strict=True)
        if row.any()
    ]


def kinds_of_experts(phases: list[PhaseKinds]) -> dict[str, float]:
    """What the expert phases (gather, up and gate, activation, down) do, mean µs a call, the largest first."""
    total: dict[str, float] = {}
    for phase in phases:
        if phase.phase in EXPERT_PHASES:
            for kind, us in phase.kinds.items():
                total[kind] = total.get(kind, 0.0) + us
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def headroom_sentence(every: Group, phases: list[PhaseKinds], floor: Floor) -> str:
    """The phase that could give most, in one sentence.

    The floor is charged to the phases that read weights, in proportion to their time.
    """
    reads = sum(p.mean_us for p in phases if p.phase in EXPERT_PHASES)
    bound = 0.0 if floor.ns is None or every.floor_us is None else every.floor_us
    room = {p.phase: p.mean_us - (bound * p.mean_us / reads if p.phase in EXPERT_PHASES else 0.0) for p in phases}
    if not room:
        return "no phase has any time."
    largest = max(phases, key=lambda p: room[p.phase])
    kind, us = next(iter(largest.kinds.items()))
    of_call = f"{largest.mean_us:.1f} of {every.mean_us:.1f} µs a call"
    nothing = set(largest.kinds) <= set(IDLE)
    what = "nothing of the call runs in it" if nothing else f"{100 * us / largest.mean_us:.0f} % of it is kind {kind}"
    if floor.ns is None:
        return f"The largest phase is {largest.phase}: {of_call}, {what}; how much of it must be is not known."
    over = f"{room[largest.phase]:.1f} µs above its share of the floor (modelled)"
    return f"The largest headroom is in {largest.phase}: {of_call}, {over}; {what}."
