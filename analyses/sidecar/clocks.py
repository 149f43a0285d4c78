"""The gaps between cards in the calls of a sidecar, for the bound on their clocks' offset.

Forth: from what opens a call on the main card (publish, signal, copy in), else the op it follows, to the
first op on the other card. Back: from the last op there to the copy out on the main card, else to the
join, where a recorded edge says that it follows, or it is known to have waited.

    forth, back = crossings(scene, calls, joins)
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.joins import Joins
from stepprof.analyses.sidecar.members import CLOSES, OPENS, Scene

EARLY = (*OPENS, "signal")
LOW, HIGH = -(2**62), 2**62


def crossings(scene: Scene, calls: Calls, joins: Joins) -> tuple[Ints, Ints]:
    """Gaps main card -> other card, and back, ns; negative ones show clocks that are apart."""
    stretches = calls.stretches
    there = stretches.away & ~stretches.waits
    first = _least(calls, stretches.start, there)
    last = -_least(calls, -stretches.end, there)
    here = ~stretches.away & ~stretches.waits
    opens = np.array([name in EARLY for name in stretches.phases])[stretches.phase] & here
    closes = np.array([name in CLOSES for name in stretches.phases])[stretches.phase] & here
    sent = -_least(calls, -stretches.end, opens)
    sent = np.where(sent == LOW, joins.fork, sent)
    fetched = _least(calls, stretches.start, closes)
    follows = joins.linked & ((joins.wait > 0) | scene.edges.known[joins.op]) & (joins.resumes != UNKNOWN)
    fetched = np.where((fetched == HIGH) & follows, joins.resumes, fetched)
    worked = first != HIGH
    return (first - sent)[worked], (fetched - last)[worked & (fetched != HIGH)]


def answered_away(calls: Calls) -> Bools:
    """Calls whose last op ran on the other card, so that its clock tells when they were done."""
    there = calls.stretches.away & ~calls.stretches.waits
    return calls.done == -_least(calls, -calls.stretches.end, there)


def _least(calls: Calls, value: Ints, which: np.ndarray) -> Ints:
    """The least value of each call; HIGH where it has none."""
    found = np.full(len(calls), HIGH, dtype=np.int64)
    np.minimum.at(found, calls.stretches.call[which], value[which])
    return found
