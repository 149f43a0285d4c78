"""Perfetto tracks of a step as a whole: steps, phases, layers, the critical path and its gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.lanes import interval_lanes
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.vocabulary import KINDS, PHASES, ROLES
from stepprof.profiler.report.perfetto_track import PATH, STEPS, Event, Tracks

LANES = 100  # tracks kept free for each of phases and layers


def step_events(tracks: Tracks, found: Attribution, which: Ints, at: Ints) -> Iterator[Event]:
    """Slices of the chosen steps, their phases and their layers."""
    steps = found.steps
    row = tracks.track(STEPS, "steps", 0, "steps")
    for i in which.tolist():
        start, end = int(steps.windows.start[i]), int(steps.windows.end[i])
        about: dict[str, Any] = {"step": i, "ops": int(steps.windows.ops[i]), "flags": ", ".join(steps.flags[i])}
        yield tracks.slice(row, steps.label[i] or f"step {i}", "step", start, end, **about)
    step, phase, layer = steps.of_op[at], found.roles.phase[at].astype(np.int64), found.roles.layer[at].astype(np.int64)
    yield from _spans(tracks, found, at[phase != UNKNOWN], _pack(step, phase)[phase != UNKNOWN], "phase", LANES)
    packed = _pack(step, phase, layer)
    yield from _spans(tracks, found, at[layer != UNKNOWN], packed[layer != UNKNOWN], "layer", 2 * LANES)


def path_events(tracks: Tracks, found: Attribution, which: Ints) -> Iterator[Event]:
    """The ops on the path, each as long as it is exposed."""
    row = tracks.track(PATH, "critical path", 0, "exposed ops")
    path, ops, roles = found.path, found.ops, found.roles
    mine = np.flatnonzero(found.work & np.isin(path.segment_step, which))
    for i in mine.tolist():
        op = int(path.segment_op[i])
        category = f"{ROLES[roles.role[op]]},{KINDS[roles.kind[op]]}"
        start, end = int(path.segment_start[i]), int(path.segment_end[i])
        yield tracks.slice(row, ops.names[ops.name[op]], category, start, end, op_id=int(ops.op_id[op]))


def gap_events(tracks: Tracks, found: Attribution, which: Ints) -> Iterator[Event]:
    """What the path waited for."""
    row = tracks.track(PATH, "critical path", 1, "gaps")
    gaps = found.gaps
    for i in np.flatnonzero(np.isin(gaps.step, which)).tolist():
        yield tracks.slice(row, CLASSES[gaps.code[i]], "gap", int(gaps.start[i]), int(gaps.end[i]))


def _pack(*codes: Ints) -> Ints:
    """Several small codes (UNKNOWN allowed) as one, the first the most significant."""
    total = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        total = total * 100_000 + code + 1
    return total


def _spans(tracks: Tracks, found: Attribution, at: Ints, key: Ints, what: str, first: int) -> Iterator[Event]:
    """From first start to last end of the ops that share a key; spans that overlap lie on tracks of their own."""
    keys, group = np.unique(key, return_inverse=True)
    start = np.full(len(keys), np.iinfo(np.int64).max)
    end = np.zeros(len(keys), dtype=np.int64)
    np.minimum.at(start, group, found.ops.start[at])
    np.maximum.at(end, group, found.ops.end[at])
    order = np.lexsort((end, start))
    names = [PHASES[int(k) % 100_000 - 1] if what == "phase" else f"layer {int(k) % 100_000 - 1}" for k in keys]
    for i, lane in zip(order.tolist(), interval_lanes(start[order], end[order]).tolist(), strict=True):
        row = tracks.track(STEPS, "steps", first + lane, f"{what}s" if lane == 0 else f"{what}s ({lane + 1})")
        yield tracks.slice(row, names[i], what, int(start[i]), int(end[i]))
