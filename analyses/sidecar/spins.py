"""Spin-waits of the main card that stand in line with its own work: one stream works, then spins for the answer.

There the spin, and what comes after it to fetch the answer, are the main card's own time: it waits from when
it was ready until the other card was done, and not at all where the answer was there before.

    answered = answers_in_line(scene, calls, own, ready)
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.members import Scene


def answers_in_line(scene: Scene, calls: Calls, own: Bools, ready: Ints) -> Ints:
    """End of each call's work on the other card, ns, where the main card began to spin for it once it was `ready`.

    `own` marks the main card's ops that belong to no call. UNKNOWN where no spin follows one of them, where it
    began before the main card was ready, or where nothing on the other card is on record.
    """
    stretches = calls.stretches
    spins = np.flatnonzero(stretches.waits & ~stretches.away & (stretches.op != UNKNOWN))
    spins = spins[_follows(scene, own)[stretches.op[spins]]]
    begun = np.full(len(calls), np.iinfo(np.int64).max)
    np.minimum.at(begun, stretches.call[spins], stretches.start[spins])
    there = np.flatnonzero(stretches.away & ~stretches.waits)
    answered = np.full(len(calls), UNKNOWN, dtype=np.int64)
    np.maximum.at(answered, stretches.call[there], stretches.end[there])
    spun = begun != np.iinfo(np.int64).max
    return np.where(spun & (ready != UNKNOWN) & (begun >= ready), answered, UNKNOWN)


def _follows(scene: Scene, own: Bools) -> Bools:
    """Ops that follow one of `own`: by recorded edges where there are any, else by the walk's dependency."""
    deps, edges = scene.found.deps, scene.edges
    known = np.zeros(len(own), bool)
    known[edges.target[own[edges.source]]] = True
    guessed = (~edges.known | deps.head) & (deps.predecessor != UNKNOWN) & own[deps.predecessor]
    return known | guessed
