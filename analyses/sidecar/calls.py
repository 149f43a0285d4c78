"""The calls of the sidecar: step, layer, rows, and what ran in each, as stretches of time.

    calls = find_calls(store, scene, chosen)
    calls.done - calls.start        # from the first op of each call to the end of its last one, ns

A stretch is an op of the call, or a phase that a resident kernel stamped itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.facts import CallFacts, call_facts, marked_counts
from stepprof.analyses.sidecar.members import Scene, marked_members, traffic_members
from stepprof.analyses.sidecar.one_card import refuse_one_card
from stepprof.analyses.sidecar.resident import Stamped, resident_calls
from stepprof.analyses.sidecar.stretches import Stretches, adopted, op_stretches, span_of_calls
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

Warnings = list[dict[str, Any]]


@dataclass(frozen=True)
class Calls:
    """One entry a call, by step, then start; times in ns, UNKNOWN (-1) where nothing says."""

    step: Ints
    layer: Ints
    side: Ints  # card
    start: Ints
    done: Ints  # the last op of the call has ended; spin-waits do not count
    rows: Ints
    experts: Ints
    stretches: Stretches
    source: str  # how calls were found: marks, traffic, stamps
    rows_from: str | None = None  # facts, stamps or marks
    skipped: int | None = None  # calls not made; None where no fact says
    warnings: Warnings = field(default_factory=list[dict[str, Any]])

    def __len__(self) -> int:
        return len(self.step)

    @property
    def worked(self) -> Bools:
        """Calls for which something ran on the other card."""
        work = self.stretches.away & ~self.stretches.waits
        return np.bincount(self.stretches.call[work], minlength=len(self)) > 0

    @property
    def empty(self) -> Bools:
        """Calls that were made without rows."""
        return (self.rows == 0) | ~self.worked

    def only(self, kept: Ints) -> Calls:
        """These calls, in this order."""
        number = np.full(len(self), UNKNOWN, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        columns = ("step", "layer", "side", "start", "done", "rows", "experts")
        cut = {name: getattr(self, name)[kept] for name in columns}
        return replace(self, **cut, stretches=self.stretches.renumbered(number))


def find_calls(store: Store, scene: Scene, chosen: Sequence[int]) -> Calls:
    """All calls of the chosen steps; Refused where there is no sidecar to be seen."""
    stamped, facts = resident_calls(store, scene), call_facts(store, scene.found.steps, chosen)
    refuse_one_card(scene, len(stamped) > 0, facts)
    calls = _of_ops(scene)
    calls = _with_stamps(calls, stamped) if len(stamped) else calls
    if not calls.worked.any():
        raise Refused(
            f"{scene.found.source}: ops ran on another card, but no range marks them as calls of a sidecar and no "
            "copies go to and fro: mark calls with sidecar/<layer>/<phase> ranges or map your own ranges with --rules."
        )
    calls = _counted(scene, calls, facts)
    return replace(calls, warnings=[*calls.warnings, *_over_the_edge(scene, calls), *_unknown_rows(calls, facts)])


def _of_ops(scene: Scene) -> Calls:
    """Calls that ops make up; one made of spin-waits alone is none."""
    members, source = marked_members(scene), "marks"
    if len(members.op) == 0:
        members, source = traffic_members(scene), "traffic"
    stretches, warnings = adopted(scene, members, op_stretches(scene, members))
    first = np.flatnonzero(np.diff(members.call, prepend=UNKNOWN))
    calls = _made(members.step[first], members.layer[first], members.side[first], stretches, source)
    return replace(calls, warnings=warnings)


def _made(step: Ints, layer: Ints, side: Ints, stretches: Stretches, source: str) -> Calls:
    start, done = span_of_calls(stretches, len(step))
    unknown = np.full(len(step), UNKNOWN, dtype=np.int64)
    calls = Calls(step, layer, side, start, done, unknown, unknown, stretches, source)
    real = np.flatnonzero(done != UNKNOWN)
    return calls.only(real[np.lexsort((start[real], step[real]))])


def _with_stamps(calls: Calls, stamped: Stamped) -> Calls:
    """What a resident kernel stamped, in the calls that it answers; calls of their own where ops make up none."""
    if len(calls) == 0:
        whole = _made(
            stamped.step,
            stamped.layer,
            np.full(len(stamped), stamped.side),
            stamped.stretches(np.arange(len(stamped))),
            "stamps",
        )
        return replace(whole, rows=stamped.rows, rows_from="stamps")
    call = stamped.call_of(calls.layer, calls.step, calls.start)
    held = call != UNKNOWN
    rows = calls.rows.copy()
    rows[call[held]] = stamped.rows[held]
    stretches = calls.stretches.joined(stamped.stretches(call))
    start, done = span_of_calls(stretches, len(calls))
    side = np.where(calls.side == UNKNOWN, stamped.side, calls.side)
    lost = int((~held).sum())
    text = f"{lost} calls stamped by the resident kernel fit no call of the main card and are not counted."
    warnings = [{"code": "stamp_without_call", "count": lost, "text": text}] if lost else []
    return replace(
        calls,
        start=start,
        done=done,
        side=side,
        rows=rows,
        rows_from="stamps",
        stretches=stretches,
        warnings=[*calls.warnings, *warnings],
    )


def _counted(scene: Scene, calls: Calls, facts: CallFacts) -> Calls:
    """Rows and experts by facts, stamps, marks; calls without work that the facts call skipped were not made."""
    rows, experts = marked_counts(scene, calls.stretches, len(calls))
    source = "marks" if (rows != UNKNOWN).any() else calls.rows_from
    rows = np.where(calls.rows != UNKNOWN, calls.rows, rows)
    if len(facts.step) == 0:
        return replace(calls, rows=rows, experts=experts, rows_from=source)
    at = facts.of(calls.step, calls.layer)
    again = (at != UNKNOWN) & _made_again(calls)
    told = (at != UNKNOWN) & ~again
    rows = np.where(told & (facts.rows[at] != UNKNOWN), facts.rows[at], rows)
    experts = np.where(told & (facts.experts[at] != UNKNOWN), facts.experts[at], experts)
    worked, skipped = calls.worked, told & facts.skipped[at]
    wrong = int((skipped & worked).sum())
    text = f"{wrong} calls that the facts call skipped ran ops on the other card; they are counted as made."
    warnings = [{"code": "skipped_but_ran", "count": wrong, "text": text}] if wrong else []
    several = int(again.sum())
    text = f"{several} calls share step, layer and card with another, but the facts tell of one: they do not count for these."
    warnings += [{"code": "facts_ambiguous", "count": several, "text": text}] if several else []
    made = replace(
        calls,
        rows=rows,
        experts=experts,
        rows_from="facts" if told.any() else source,
        skipped=int(facts.skipped.sum()) - wrong,
        warnings=[*calls.warnings, *warnings],
    )
    return made.only(np.flatnonzero(~(skipped & ~worked)))


def _made_again(calls: Calls) -> Bools:
    """Calls that share step, layer and card with another one."""
    keys = np.stack([calls.step, calls.layer, calls.side])
    _, which, count = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    return count[which.reshape(-1)] > 1


def _over_the_edge(scene: Scene, calls: Calls) -> Warnings:
    windows = scene.found.steps.windows
    over = int(((calls.start < windows.start[calls.step]) | (calls.done > windows.end[calls.step])).sum())
    text = f"{over} calls reach over the edge of their step's window; they are counted whole."
    return [{"code": "call_over_edge", "count": over, "text": text}] if over else []


def _unknown_rows(calls: Calls, facts: CallFacts) -> Warnings:
    count = int((calls.rows == UNKNOWN).sum())
    way = "give the server's facts with import --facts, or rows=R in the range around a call"
    if len(facts.step) and (calls.layer == UNKNOWN).any():
        way = "its facts are told by layer, which these calls do not name: take it from a marked run with --labels-from"
    text = f"{count} calls do not say how many rows they had: {way}."
    return [{"code": "rows_unknown", "count": count, "text": text}] if count else []
