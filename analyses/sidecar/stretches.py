"""What ran in each call of the sidecar, when, and what it was: stretches of time.

Ops without a mark that run within the span of one call on its card belong to it, and so does a
kernel of the main card that spins until a call is done; all other ops of other cards are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepprof.analyses.latest import latest
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.members import Members, Scene
from stepprof.analyses.vocabulary import KINDS

WAIT_KIND = KINDS.index("wait")


@dataclass(frozen=True)
class Stretches:
    """One entry a stretch, by (call, start); times in ns."""

    call: Ints
    start: Ints
    end: Ints
    phase: Ints  # index into phases
    kind: Ints  # index into KINDS
    away: Bools  # on the other card
    op: Ints  # UNKNOWN for what a resident kernel stamped
    phases: list[str]

    @property
    def waits(self) -> Bools:
        """Spin-waits: no work."""
        return self.kind == WAIT_KIND

    def renumbered(self, number: Ints) -> Stretches:
        """With other numbers of calls; those that become UNKNOWN are left out."""
        call = number[self.call]
        kept = np.flatnonzero(call != UNKNOWN)
        return self.ordered(kept[np.lexsort((self.start[kept], call[kept]))], call)

    def ordered(self, order: Ints, call: Ints) -> Stretches:
        """These entries in this order, with these calls."""
        return Stretches(
            call=call[order],
            start=self.start[order],
            end=self.end[order],
            phase=self.phase[order],
            kind=self.kind[order],
            away=self.away[order],
            op=self.op[order],
            phases=self.phases,
        )

    def joined(self, other: Stretches) -> Stretches:
        """Both, by (call, start); their phases become one list."""
        phases = [*self.phases, *(name for name in other.phases if name not in self.phases)]
        place = np.array([phases.index(name) for name in other.phases], dtype=np.int64)
        both = Stretches(
            call=np.concatenate([self.call, other.call]),
            start=np.concatenate([self.start, other.start]),
            end=np.concatenate([self.end, other.end]),
            phase=np.concatenate([self.phase, place[other.phase] if len(place) else other.phase]),
            kind=np.concatenate([self.kind, other.kind]),
            away=np.concatenate([self.away, other.away]),
            op=np.concatenate([self.op, other.op]),
            phases=phases,
        )
        return both.ordered(np.lexsort((both.start, both.call)), both.call)


def op_stretches(scene: Scene, members: Members) -> Stretches:
    """The members as stretches."""
    ops, op = scene.found.ops, members.op
    phase, phases = _phases(scene, op)
    return Stretches(
        call=members.call,
        start=ops.start[op],
        end=ops.end[op],
        phase=phase,
        kind=scene.found.roles.kind[op].astype(np.int64),
        away=ops.device[op] != scene.main,
        op=op,
        phases=phases,
    )


def _phases(scene: Scene, op: Ints) -> tuple[Ints, list[str]]:
    """The part a mark names; else copy_in or copy_out by the way of a copy, else the op's kind."""
    label, copies = scene.found.labels.of_op[op], scene.copies
    way = np.where(copies.side[op] == UNKNOWN, 0, np.where(copies.inward[op], 1, 2))
    kind = scene.found.roles.kind[op].astype(np.int64)
    parts = sorted({*scene.marks.part} - {""})
    part = np.array([parts.index(p) if p else UNKNOWN for p in scene.marks.part])[label]
    names = [*parts, *KINDS, "copy_in", "copy_out"]
    unmarked = np.where(way == 0, len(parts) + kind, len(parts) + len(KINDS) + way - 1)
    used, phase = np.unique(np.where(part == UNKNOWN, unmarked, part), return_inverse=True)
    texts = [names[i] for i in used.tolist()]
    merged = list(dict.fromkeys(texts))
    place = np.array([merged.index(text) for text in texts], dtype=np.int64)
    return place[phase] if len(place) else phase.astype(np.int64), merged


def adopted(scene: Scene, members: Members, stretches: Stretches) -> tuple[Stretches, list[dict[str, Any]]]:
    """Stretches with those of unmarked ops that can only belong to one call, and a count of the others."""
    known = np.zeros(len(scene.found.ops), bool)
    known[members.op] = True
    left = (scene.step != UNKNOWN) & ~known
    work = np.flatnonzero(left & (scene.found.ops.device != scene.main) & ~scene.found.waits)
    waits = np.flatnonzero(left & (scene.found.ops.device == scene.main) & scene.found.waits)
    call = _around(scene, members, stretches, work)
    behind = _done_in(scene, members, stretches, waits)
    strays = int((call == UNKNOWN).sum())
    op, call = np.concatenate([work, waits]), np.concatenate([call, behind])
    op, call = op[call != UNKNOWN], call[call != UNKNOWN]
    nothing = np.zeros(0, np.int64)
    found = op_stretches(scene, Members(op, call, nothing, nothing, nothing))
    return stretches.joined(found) if len(op) else stretches, _strays(strays, bool(len(members.op)))


def _strays(count: int, calls: bool) -> list[dict[str, Any]]:
    text = f"{count} ops on other cards belong to no call of the sidecar and are not counted."
    return [{"code": "outside_calls", "count": count, "text": text}] if count and calls else []


def _edges_of(members: Members, stretches: Stretches) -> tuple[Ints, Ints, Ints, Ints]:
    """Step, card, first start and last end of each call by its members that do not wait."""
    count = int(members.call.max(initial=-1)) + 1
    first = np.searchsorted(members.call, np.arange(count))
    start, end = span_of_calls(stretches, count)
    return members.step[first], members.side[first], start, end


def span_of_calls(stretches: Stretches, count: int) -> tuple[Ints, Ints]:
    """First start and last end of each call, spin-waits aside; an end of UNKNOWN where there is nothing else."""
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, UNKNOWN, dtype=np.int64)
    work = ~stretches.waits
    np.minimum.at(start, stretches.call[work], stretches.start[work])
    np.maximum.at(end, stretches.call[work], stretches.end[work])
    return np.where(end == UNKNOWN, UNKNOWN, start), end


def _around(scene: Scene, members: Members, stretches: Stretches, op: Ints) -> Ints:
    """The call that began last on the op's card, in its step, where it goes on until the op has ended."""
    step, side, start, end = _edges_of(members, stretches)
    ops, cards = scene.found.ops, int(scene.found.ops.device.max(initial=0)) + 2
    call = latest(step * cards + side, start, scene.step[op] * cards + ops.device[op], ops.start[op])
    return np.where((call != UNKNOWN) & (np.append(end, UNKNOWN)[call] >= ops.end[op]), call, UNKNOWN)


def _done_in(scene: Scene, members: Members, stretches: Stretches, op: Ints) -> Ints:
    """The call of the same step that was done last while a spin-wait ran."""
    step, _, _, end = _edges_of(members, stretches)
    ops = scene.found.ops
    call = latest(step, end, scene.step[op], ops.end[op])
    return np.where((call != UNKNOWN) & (np.append(end, UNKNOWN)[call] >= ops.start[op]), call, UNKNOWN)
