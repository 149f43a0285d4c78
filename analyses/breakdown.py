"""Where the steps' time goes, by role, kind, layer, phase, kernel, label or device.

exposed  share of the step's wall on the path; exposed + gaps = wall, exactly
busy     union of op intervals, by device
work     sum of op durations
hidden   work − exposed

Work and busy are clipped to the window; spin-waits count in neither.

    breakdown(attribute(store), by="role").rows[0].exposed_ns
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.breakdown_result import NONE, Breakdown, By, Device, GapRow, KindShare, Row
from stepprof.analyses.dependencies import SOURCES
from stepprof.analyses.gaps import CLASSES, CODE
from stepprof.analyses.intervals import union_length
from stepprof.analyses.mismatches import mismatches
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.outside_steps import outside_steps
from stepprof.analyses.vocabulary import CONFIDENCES, KINDS, PHASES, ROLES
from stepprof.profiler.errors import Refused


@dataclass(frozen=True)
class _Selection:
    """The chosen steps' ops, clipped to their windows, and path segments."""

    found: Attribution
    chosen: list[int]
    ops: Ints  # op indices
    start: Ints
    end: Ints
    rank: Ints  # position of each op's step among the chosen
    segment_op: Ints
    segment_ns: Ints
    wall: int

    def mean(self, total: SupportsFloat) -> float:
        """Per chosen step."""
        return float(total) / len(self.chosen)


def breakdown(found: Attribution, by: By = "role", chosen: Sequence[int] | None = None) -> Breakdown:
    """Break the chosen steps down (default: all whole ones); Refused where none is left."""
    picked = _select(found, list(found.steps.usable if chosen is None else chosen))
    code, names = _keys(found, by)
    wall = found.steps.wall[picked.chosen]
    exposed = int(picked.segment_ns.sum())
    return Breakdown(
        by=by,
        steps=len(picked.chosen),
        wall_ns={"p50": float(np.median(wall)), "min": int(wall.min()), "max": int(wall.max())},
        rows=_rows(picked, code, names),
        gaps=_gap_rows(picked),
        path=_link_shares(picked),
        overlap_ns=_overlaps(picked),
        second_card_ns=_second_card(picked),
        totals={"wall_ns": picked.wall, "exposed_ns": exposed, "gap_ns": picked.wall - exposed},
        devices=_devices(picked),
        unknown_share=_share(picked, found.roles.role == ROLES.index("unknown")),
        low_confidence_share=_share(picked, found.roles.confidence == CONFIDENCES.index("low")),
        labelled_share=float(np.sum(found.labels.of_op[picked.ops] != UNKNOWN)) / max(len(picked.ops), 1),
        mismatches=mismatches(found, picked.ops, picked.end - picked.start),
        inflation=found.inflation,
        method=found.steps.method,
        confidence=found.steps.confidence,
        warnings=[*found.warnings, *_left_out(found, picked.chosen), *outside_steps(found, picked.chosen)],
    )


def _select(found: Attribution, chosen: list[int]) -> _Selection:
    if not chosen:
        raise Refused(
            f"{found.source}: none of the {len(found.steps)} steps is whole (see stepprof steps): choose some with --steps A:B."
        )
    rank_of = np.full(len(found.steps) + 1, UNKNOWN, dtype=np.int64)
    rank_of[chosen] = np.arange(len(chosen))
    rank = rank_of[found.steps.of_op]
    at = np.flatnonzero((rank != UNKNOWN) & ~found.waits)
    low, high = (edge[found.steps.of_op[at]] for edge in (found.steps.windows.start, found.steps.windows.end))
    start = np.clip(found.ops.start[at], low, high)
    end = np.clip(found.ops.end[at], low, high)
    mine = found.work & (rank_of[found.path.segment_step] != UNKNOWN)
    length = (found.path.segment_end - found.path.segment_start)[mine]
    wall = int(found.steps.wall[chosen].sum())
    return _Selection(found, chosen, at, start, end, rank[at], found.path.segment_op[mine], length, wall)


def _keys(found: Attribution, by: By) -> tuple[Ints, list[str]]:
    """A code for every op, and the name of each code."""
    roles, ops = found.roles, found.ops
    if by == "role":
        return roles.role.astype(np.int64), list(ROLES)
    if by == "kind":
        return roles.kind.astype(np.int64), list(KINDS)
    if by == "phase":
        return roles.phase.astype(np.int64) + 1, [NONE, *PHASES]
    if by == "layer":
        return roles.layer.astype(np.int64) + 1, [NONE, *map(str, range(int(roles.layer.max(initial=0)) + 1))]
    if by == "label":
        return found.labels.of_op + 1, [NONE, *(" › ".join(path) for path in found.labels.paths)]
    if by == "device":
        return ops.device, [str(d) for d in range(int(ops.device.max(initial=0)) + 1)]
    return ops.name, ops.names


def _rows(picked: _Selection, code: Ints, names: list[str]) -> list[Row]:
    """Rows of all keys that occur, by exposed time, then work."""
    count = len(names)
    mine = code[picked.ops]
    exposed = _sum(code[picked.segment_op], picked.segment_ns, count)
    work = _sum(mine, picked.end - picked.start, count)
    busy = _busy(picked, mine, count)
    number = np.bincount(mine, minlength=count)
    kinds = _kinds(picked, code, count)
    rows = [
        Row(
            key=names[k],
            exposed_ns=picked.mean(exposed[k]),
            exposed_total_ns=int(exposed[k]),
            busy_ns=picked.mean(busy[k]),
            work_ns=picked.mean(work[k]),
            hidden_ns=picked.mean(work[k] - exposed[k]),
            ops=picked.mean(number[k]),
            share=float(exposed[k]) / picked.wall if picked.wall else 0.0,
            kinds=kinds(k),
        )
        for k in np.flatnonzero(number).tolist()
    ]
    return sorted(rows, key=lambda row: (-row.exposed_total_ns, -row.work_ns, row.key))


def _kinds(picked: _Selection, code: Ints, count: int) -> Callable[[int], list[KindShare]]:
    """For a key its kinds, most work first."""
    roles = picked.found.roles
    wide = code * len(KINDS) + roles.kind
    exposed = _sum(wide[picked.segment_op], picked.segment_ns, count * len(KINDS))
    work = _sum(wide[picked.ops], picked.end - picked.start, count * len(KINDS))
    present = np.bincount(wide[picked.ops], minlength=count * len(KINDS))
    misfit = np.bincount(wide[picked.ops][roles.mismatch[picked.ops]], minlength=count * len(KINDS))

    def of_key(key: int) -> list[KindShare]:
        at = [key * len(KINDS) + k for k in range(len(KINDS))]
        found = [
            KindShare(KINDS[i % len(KINDS)], picked.mean(exposed[i]), picked.mean(work[i]), bool(misfit[i] == 0))
            for i in at
            if present[i]
        ]
        return sorted(found, key=lambda share: (-share.work_ns, share.kind))

    return of_key


def _busy(picked: _Selection, code: Ints, count: int) -> Ints:
    """Union of each key's intervals by step and card, summed."""
    device = picked.found.ops.device[picked.ops]
    cell = (picked.rank * (int(device.max(initial=0)) + 1) + device) * count + code
    cells, group = np.unique(cell, return_inverse=True)
    length = union_length(group, picked.start, picked.end, len(cells))
    return _sum(cells % count, length, count)


def _gap_rows(picked: _Selection) -> list[GapRow]:
    gaps = picked.found.gaps
    mine = np.isin(gaps.step, picked.chosen)
    total = _sum(gaps.code[mine], (gaps.end - gaps.start)[mine], len(CLASSES))
    count = np.bincount(gaps.code[mine], minlength=len(CLASSES))
    rows = [
        GapRow(CLASSES[k], picked.mean(total[k]), int(total[k]), picked.mean(count[k]), float(total[k]) / picked.wall)
        for k in np.flatnonzero(count).tolist()
    ]
    return sorted(rows, key=lambda row: -row.exposed_total_ns)


def _link_shares(picked: _Selection) -> dict[str, float]:
    """Shares of the path's links by how they are known."""
    source = picked.found.deps.source[picked.segment_op]
    linked = picked.found.deps.predecessor[picked.segment_op] != UNKNOWN
    count = np.bincount(source[linked], minlength=len(SOURCES))
    return {name: float(n) / max(int(count.sum()), 1) for name, n in zip(SOURCES, count, strict=True)}


def _overlaps(picked: _Selection) -> dict[str, float]:
    """How long path ops ran before their dependency ended, ns a step; that time is the dependency's."""
    found, deps = picked.found, picked.found.deps
    before = deps.predecessor[picked.segment_op]
    linked = before != UNKNOWN
    op, before = picked.segment_op[linked], before[linked]
    early = np.clip(found.ops.end[before], None, found.ops.end[op]) - found.ops.start[op]
    early = np.maximum(early, 0)
    pdl = deps.programmatic[op]
    return {"pdl": picked.mean(int(early[pdl].sum())), "overlap": picked.mean(int(early[~pdl].sum()))}


def _second_card(picked: _Selection) -> float:
    """Exposed time of ops on other cards than the main one, and waits for them, ns a step."""
    device = picked.found.ops.device
    main = int(np.bincount(device[picked.ops], minlength=1).argmax())
    exposed = picked.segment_ns[device[picked.segment_op] != main].sum()
    gaps = picked.found.gaps
    waited = np.isin(gaps.step, picked.chosen) & (gaps.code == CODE["sidecar_wait"])
    return picked.mean(int(exposed) + int((gaps.end - gaps.start)[waited].sum()))


def _devices(picked: _Selection) -> list[Device]:
    device = picked.found.ops.device[picked.ops]
    count = int(device.max(initial=0)) + 1
    work = _sum(device, picked.end - picked.start, count)
    busy = _busy(picked, device, count)
    return [Device(d, picked.mean(busy[d]), picked.mean(work[d])) for d in np.unique(device).tolist()]


def _share(picked: _Selection, which: np.ndarray) -> float:
    total = int(picked.segment_ns.sum())
    return float(picked.segment_ns[which[picked.segment_op]].sum()) / total if total else 0.0


def _left_out(found: Attribution, chosen: list[int]) -> list[dict[str, Any]]:
    """Steps with doubts that no figure is made of."""
    lost = set(range(len(found.steps))) - set(found.steps.usable) - set(chosen)
    if not lost:
        return []
    text = f"{len(lost)} of {len(found.steps)} steps are warm-up, incomplete or without ops and were left out (see stepprof steps)."
    return [{"code": "steps_left_out", "count": len(lost), "text": text}]


def _sum(code: Ints, value: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, code, value)
    return total
