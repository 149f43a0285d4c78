"""Calls that a kernel which never leaves the sidecar stamped itself (table resident_call).

Its one record in a trace says nothing about calls; the stamps do: seen -> gated is `up_gate`, gated -> answered
is `down` (with the reduce, in one loop), and seen -> answered is `serve` where nobody stamped the middle.

    stamped = resident_calls(store, scene)
    stamped.stretches(call)      # with the number of the call that each stamp belongs to
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.latest import latest
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.sidecar.members import Scene
from stepprof.analyses.sidecar.stretches import Stretches
from stepprof.analyses.vocabulary import KINDS
from stepprof.profiler.store import Store

PHASES = ["up_gate", "down", "serve"]
GEMM, OTHER = KINDS.index("gemm"), KINDS.index("other")
STAMP_SQL = """
SELECT layer::BIGINT AS layer, coalesce(rows, -1)::BIGINT AS rows, seen_ns, coalesce(gated_ns, -1) AS gated_ns,
    answered_ns, coalesce(clock_offset_bound_ns, 0) AS bound_ns
FROM resident_call WHERE answered_ns >= seen_ns ORDER BY seen_ns
"""


@dataclass(frozen=True)
class Stamped:
    """One entry a stamped call of the chosen steps; times in ns."""

    step: Ints
    layer: Ints
    rows: Ints
    seen: Ints
    gated: Ints
    answered: Ints
    bound: int  # how far the stamps' clock may be off, at most
    side: int  # the other card, UNKNOWN where there are several

    def __len__(self) -> int:
        return len(self.step)

    def stretches(self, call: Ints) -> Stretches:
        """One or two stretches a stamp, with the calls they belong to; stamps of no call are left out."""
        whole = (call != UNKNOWN) & ((self.gated < self.seen) | (self.gated > self.answered))
        halves = (call != UNKNOWN) & ~whole
        parts = [
            (halves, self.seen, self.gated, 0, GEMM),
            (halves, self.gated, self.answered, 1, GEMM),
            (whole, self.seen, self.answered, 2, OTHER),
        ]
        number = [int(which.sum()) for which, *_ in parts]
        return Stretches(
            call=np.concatenate([call[which] for which, *_ in parts]),
            start=np.concatenate([start[which] for which, start, *_ in parts]),
            end=np.concatenate([end[which] for which, _, end, *_ in parts]),
            phase=np.repeat([phase for *_, phase, _ in parts], number),
            kind=np.repeat([kind for *_, kind in parts], number),
            away=np.ones(sum(number), bool),
            op=np.full(sum(number), UNKNOWN, dtype=np.int64),
            phases=PHASES,
        )

    def call_of(self, layer: Ints, step: Ints, start: Ints) -> Ints:
        """The call of the same step and layer that had begun when each stamp was taken."""
        width = max(int(self.layer.max(initial=0)), int(layer.max(initial=0))) + 2
        group, asked = step * width + layer + 1, self.step * width + self.layer + 1
        call = latest(group, start, asked, self.seen + self.bound)
        first = np.zeros(len(call), bool)
        first[np.unique(call, return_index=True)[1]] = True
        return np.where(first, call, UNKNOWN)  # a call is answered once


def resident_calls(store: Store, scene: Scene) -> Stamped:
    """The stamps that lie in chosen steps."""
    table = {key: np.asarray(value, dtype=np.int64) for key, value in store.arrays(STAMP_SQL).items()}
    windows = scene.found.steps.windows
    order = np.flatnonzero(windows.ops > 0)
    order = order[np.argsort(windows.gpu_start[order], kind="stable")]
    place = np.searchsorted(windows.gpu_start[order], table["seen_ns"], side="right") - 1
    step = order[np.maximum(place, 0)] if len(order) else np.zeros(len(place), np.int64)
    inside = (place >= 0) & np.isin(step, np.unique(scene.step)) if len(order) else place > 0
    inside &= (table["seen_ns"] <= windows.gpu_end[step]) if len(order) else True
    cards = np.unique(scene.found.ops.device)
    others = np.append(cards[cards != scene.main], np.array(store.rows("SELECT device FROM device"))[:, 0])
    others = np.unique(others[others != scene.main])
    return Stamped(
        step=step[inside],
        layer=table["layer"][inside],
        rows=table["rows"][inside],
        seen=table["seen_ns"][inside],
        gated=table["gated_ns"][inside],
        answered=table["answered_ns"][inside],
        bound=int(table["bound_ns"].max(initial=0)),
        side=int(others[0]) if len(others) == 1 else UNKNOWN,
    )
