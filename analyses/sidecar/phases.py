"""Each call of the sidecar cut into phases: what ran, and the gaps between; they add up to the call exactly.

A call lasts from its first op until its last one has ended and, where the main card had been waiting, until
that goes on. An op that started before an earlier one had ended counts from that end on. Gaps are phases:

    gap:gather→up_gate   nothing of the call ran between these two phases (gap:up_gate→up_gate: between two ops)
    wake                 from the doorbell on the main card until something runs on the other one
    wake_up              from the end of the call until the main card goes on

Time in which only a spin-wait of the call runs is a gap too, of kind `wait`.

    pieces = cut(calls, joins)
    pieces.ns[pieces.call == 3].sum() == pieces.length[3]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.intervals import covered, merge, reach_before
from stepprof.analyses.ops import Ints
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.joins import Joins
from stepprof.analyses.sidecar.stretches import Stretches
from stepprof.analyses.vocabulary import KINDS

GAP = "gap"
PIECE_KINDS = (*KINDS, GAP)
GAP_KIND, WAIT_KIND = PIECE_KINDS.index(GAP), PIECE_KINDS.index("wait")
WAKE, WAKE_UP = "wake", "wake_up"
DOORBELL = ("publish", "signal")


@dataclass(frozen=True)
class Pieces:
    """One entry a piece of a call; pieces of a call are disjoint and cover it."""

    call: Ints
    phase: Ints  # index into phases
    kind: Ints  # index into PIECE_KINDS
    ns: Ints
    length: Ints  # of each call, ns
    phases: list[str]  # by the time at which they come in a call


@dataclass(frozen=True)
class _Gaps:
    """Time of a call in which none of its ops works."""

    call: Ints
    start: Ints
    end: Ints
    before: Ints  # phase before, index into the stretches' phases
    after: Ints  # phase after; the number of phases at a call's end
    wakes: np.ndarray


def cut(calls: Calls, joins: Joins) -> Pieces:
    """Cut every call; asserts that its pieces add up to it."""
    end = np.where((joins.wait > 0) & (joins.resumes > calls.done), joins.resumes, calls.done)
    work = _work(calls.stretches)
    new = np.diff(work.call, prepend=-1) != 0
    reach = np.where(new, work.start, reach_before(work.end, new)) if len(new) else work.start
    begin = np.maximum(work.start, reach)
    ran = np.maximum(work.end - begin, 0)
    gaps = _gaps(work, new, reach, calls, end)
    waited = _waited(calls, gaps)
    names, phase = _names(work, gaps)
    call = np.concatenate([work.call, gaps.call, gaps.call])
    kinds = [work.kind, np.full(len(gaps.call), GAP_KIND), np.full(len(gaps.call), WAIT_KIND)]
    ns = np.concatenate([ran, gaps.end - gaps.start - waited, waited])
    at = np.concatenate([begin, gaps.start, gaps.start]) - calls.start[call]
    return _checked(call, phase, np.concatenate(kinds), ns, end - calls.start, names, at)


def _work(stretches: Stretches) -> Stretches:
    """All but the spin-waits, by call and start."""
    kept = np.flatnonzero(~stretches.waits)
    return stretches.ordered(kept, stretches.call)


def _gaps(work: Stretches, new: np.ndarray, reach: Ints, calls: Calls, end: Ints) -> _Gaps:
    """Gaps between the ops of a call, and from its last one to its end."""
    holder = _holders(work, new)
    inner = np.flatnonzero(~new & (work.start > reach))
    final = np.flatnonzero(end > calls.done)
    last = np.append(np.flatnonzero(new)[1:] - 1, len(new) - 1)[final] if len(new) else final
    before = np.concatenate([holder[inner - 1], holder[last]]).astype(np.int64)
    doorbell = np.array([name in DOORBELL for name in work.phases])[work.phase[before]]
    answers = np.concatenate([work.away[inner], np.zeros(len(final), bool)])
    return _Gaps(
        call=np.concatenate([work.call[inner], final]),
        start=np.concatenate([reach[inner], calls.done[final]]),
        end=np.concatenate([work.start[inner], end[final]]),
        before=work.phase[before],
        after=np.concatenate([work.phase[inner], np.full(len(final), len(work.phases))]),
        wakes=doorbell & answers,
    )


def _holders(work: Stretches, new: np.ndarray) -> Ints:
    """For each stretch the one of its call, up to it, that ends last."""
    if len(new) == 0:
        return work.call
    reach = np.where(new, np.iinfo(np.int64).min, reach_before(work.end, new))
    return np.maximum.accumulate(np.where(work.end >= reach, np.arange(len(new)), 0))


def _waited(calls: Calls, gaps: _Gaps) -> Ints:
    """How much of each gap a spin-wait of its call covers."""
    stretches = calls.stretches
    waits = np.flatnonzero(stretches.waits)
    if len(waits) == 0 or len(gaps.call) == 0:
        return np.zeros(len(gaps.call), dtype=np.int64)
    low = min(int(stretches.start[waits].min()), int(gaps.start.min()))
    span = max(int(stretches.end[waits].max()), int(gaps.end.max())) - low + 1
    assert len(calls) * span < 2**62, f"{span=} ns in {len(calls)} calls is beyond int64"
    lift = stretches.call[waits] * span - low
    spins = merge(stretches.start[waits] + lift, stretches.end[waits] + lift)
    lift = gaps.call * span - low
    return covered(gaps.start + lift, gaps.end + lift, *spins)


def _names(work: Stretches, gaps: _Gaps) -> tuple[list[str], Ints]:
    """Names of phases, and the phase of each stretch, gap and waited part of a gap."""
    count = len(work.phases) + 1
    pair = np.where(gaps.wakes, -1, gaps.before * count + gaps.after)
    pairs, which = np.unique(pair, return_inverse=True)
    names = [*work.phases, *(_gap_name(int(p), work.phases) for p in pairs)]
    gap = len(work.phases) + which.astype(np.int64)
    return names, np.concatenate([work.phase, gap, gap])


def _gap_name(pair: int, phases: list[str]) -> str:
    before, after = divmod(pair, len(phases) + 1)
    if pair < 0:
        return WAKE
    return WAKE_UP if after == len(phases) else f"gap:{phases[before]}→{phases[after]}"


def _checked(call: Ints, phase: Ints, kind: Ints, ns: Ints, length: Ints, names: list[str], at: Ints) -> Pieces:
    total = np.zeros(len(length), dtype=np.int64)
    np.add.at(total, call, ns)
    wrong = np.flatnonzero(total != length)
    assert len(wrong) == 0, f"call {wrong[0]}: phases {total[wrong[0]]} ns, call {length[wrong[0]]} ns"
    merged = sorted(set(names), key=lambda name: _place(name, names, phase, at))
    place = np.array([merged.index(name) for name in names], dtype=np.int64)
    kept = ns > 0
    return Pieces(call[kept], place[phase[kept]] if len(place) else phase[kept], kind[kept], ns[kept], length, merged)


def _place(name: str, names: list[str], phase: Ints, at: Ints) -> float:
    """When a phase comes in a call, on average."""
    mine = np.isin(phase, [i for i, other in enumerate(names) if other == name])
    return float(at[mine].mean()) if mine.any() else np.inf
