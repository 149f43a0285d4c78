"""The sidecar, call by call: what each call is made of, what the step waits for, and where there is headroom.

    answer = sidecar(store, attribute(store))
    answer.per_rows[0].phases_mean_us       # adds up to the mean call

Marked calls lie in ranges sidecar/<layer>/<phase>; without marks the traffic between cards tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.rules import load_rules
from stepprof.analyses.sidecar.calls import Calls, find_calls
from stepprof.analyses.sidecar.classes import by_class, step_classes
from stepprof.analyses.sidecar.clock_offset import ClockOffset, clock_offset
from stepprof.analyses.sidecar.clocks import crossings
from stepprof.analyses.sidecar.facts import marked_at_capture
from stepprof.analyses.sidecar.fit import fit_calls
from stepprof.analyses.sidecar.floor import Floor, Quoted, floor_of, floors_above
from stepprof.analyses.sidecar.groups import group_of, groups, headroom_sentence, phase_kinds
from stepprof.analyses.sidecar.joins import Joins, find_joins
from stepprof.analyses.sidecar.members import Scene
from stepprof.analyses.sidecar.phases import Pieces, cut
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.analyses.sidecar.scene import make_scene
from stepprof.analyses.sidecar.waits import Waits, by_layer, by_step, call_rows, where_main_waits
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store


@dataclass(frozen=True)
class SidecarQuestion:
    """What the user chose about the sidecar."""

    rules: Path | None = None
    quoted: Quoted = field(default_factory=Quoted)


def sidecar(
    store: Store, found: Attribution, chosen: Sequence[int] | None = None, question: SidecarQuestion | None = None
) -> Sidecar:
    """The calls of the chosen steps (default: all whole ones); Refused where no sidecar can be seen."""
    question = question or SidecarQuestion()
    steps = list(found.steps.usable if chosen is None else chosen)
    if not steps:
        raise Refused(f"{found.source}: none of the {len(found.steps)} steps is whole: choose some with --steps A:B.")
    scene = make_scene(store, found, steps, load_rules(question.rules))
    calls = find_calls(store, scene, steps)
    joins = find_joins(scene, calls)
    offset = clock_offset(*crossings(scene, calls, joins))
    return _answer(store, scene, steps, calls, joins, offset, floor_of(store, scene, calls, question.quoted))


def _answer(
    store: Store, scene: Scene, steps: list[int], calls: Calls, joins: Joins, offset: ClockOffset | None, floor: Floor
) -> Sidecar:
    pieces = cut(calls, joins)
    waits = Waits(scene, calls, joins, steps, None if offset is None else offset.bound_ns)
    grouped = groups(waits, pieces, floor)
    class_of = step_classes(store, waits)
    above = floors_above(floor, calls.rows, pieces.length)
    room, room_said = _headroom(waits, pieces, Floor(None, floor.said) if above else floor)
    corrected = _without(offset, waits)
    doubts = [*_clocks(offset, corrected), *floor.warnings, *above, *_open(joins)]
    return Sidecar(
        steps=len(steps),
        calls=len(calls),
        empty_calls=int(calls.empty.sum()),
        skipped_share=None if calls.skipped is None else calls.skipped / max(calls.skipped + len(calls), 1),
        all=grouped[0],
        per_rows=grouped[1:],
        phases=phase_kinds(pieces, np.arange(len(calls))),
        join_wait_us_per_step=float(waits.counted.sum()) / 1e3 / len(steps),
        held_us_per_step=float(waits.held.sum()) / 1e3 / len(steps),
        away_us_per_step=float(waits.away.sum()) / 1e3 / len(steps),
        by_layer=by_layer(waits),
        by_step=by_step(waits),
        classes=by_class(store, waits, pieces.length, class_of),
        fits=fit_calls(calls.rows, calls.experts, pieces.length),
        headroom_us=room,
        headroom_said=room_said,
        floor_said=floor.said,
        clock_offset_bound_ns=waits.bound,
        clock_offset_ns=None if offset is None else (offset.low_ns, offset.high_ns),
        clocks_apart_ns=0 if offset is None else offset.apart_ns,
        corrected_wait_us=corrected,
        below_bound=int(waits.below.sum()),
        waits_said=where_main_waits(waits),
        source=calls.source,
        rows_from=calls.rows_from,
        rows_captured=calls.rows_from == "marks" and marked_at_capture(scene, calls.stretches),
        table=call_rows(waits, pieces.length, class_of),
        inflation=scene.found.inflation,
        warnings=[*scene.found.warnings, *calls.warnings, *doubts],
    )


def _headroom(waits: Waits, pieces: Pieces, floor: Floor) -> tuple[float | None, str]:
    """Mean µs above the floor of the calls that had rows, and where it is; None where no floor is known."""
    calls = waits.calls
    at = np.arange(len(calls)) if calls.empty.all() else np.flatnonzero(~calls.empty)
    said = headroom_sentence(group_of(at, waits, pieces, floor), phase_kinds(pieces, at), floor)
    if floor.ns is None or calls.empty.all():
        return None, said
    return float((pieces.length - floor.ns)[at].mean()) / 1e3, said


def _without(offset: ClockOffset | None, waits: Waits) -> tuple[float, float] | None:
    """The join wait of a step, µs, without an offset that the trace proves: at its least and at its largest."""
    if offset is None or offset.apart_ns == 0:
        return None
    ends = (waits.per_step_if_ahead(offset.high_ns), waits.per_step_if_ahead(offset.low_ns))
    return min(ends), max(ends)


def _clocks(offset: ClockOffset | None, corrected: tuple[float, float] | None) -> list[dict[str, Any]]:
    if offset is None:
        text = "The clocks of the two cards cannot be compared: no ops follow each other both ways, or they contradict."
        return [{"code": "clock_offset_unknown", "count": 1, "text": text}]
    if corrected is None:
        return []
    low, high = (us / 1e3 for us in corrected)
    text = (
        f"The other card's clock is between {offset.low_ns:,} and {offset.high_ns:,} ns ahead of the main card's; "
        f"waits and handovers are shown as recorded; without that the main card waits {low:.3f} to {high:.3f} ms a step."
    )
    return [{"code": "clocks_apart", "count": 1, "text": text}]


def _open(joins: Joins) -> list[dict[str, Any]]:
    count = int((joins.op == UNKNOWN).sum())
    text = f"{count} calls are followed by no op of the main card in their step; they have no join and no away time."
    return [{"code": "no_join", "count": count, "text": text}] if count else []
