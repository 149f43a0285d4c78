"""Ops that run while steps pass and belong to none: a sidecar's own process that marks no steps, a helper, a stray.

    outside_steps(found, [3, 4, 5])     # warnings, one a card, where such ops are

An op belongs to a step through the launch that issued it, so the breakdown counts none of these and what-if
changes none; the breakdown of sidecar calls counts those that marks give to a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.intervals import union_length
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.windows import visitors


def outside_steps(found: Attribution, chosen: Sequence[int]) -> list[dict[str, Any]]:
    """A warning for each card with such ops in the windows of the chosen steps; spin-waits are no work."""
    ops, windows = found.ops, found.steps.windows
    start, end = windows.start[chosen], windows.end[chosen]
    op, window = visitors(ops, np.full(len(ops), UNKNOWN, dtype=np.int64), start, end)
    mine = (found.steps.of_op[op] == UNKNOWN) & ~found.waits[op]
    op, window = op[mine], window[mine]
    low, high = np.maximum(ops.start[op], start[window]), np.minimum(ops.end[op], end[window])
    warnings: list[dict[str, Any]] = []
    for card in np.unique(ops.device[op]).tolist():
        here = ops.device[op] == card
        busy = union_length(window[here], low[here], high[here], len(chosen))
        count = len(np.unique(op[here]))
        text = (
            f"{count:,} ops on card {card} ran during these steps ({float(busy.mean()) / 1e6:.3f} ms of each) and belong "
            "to none, since what launched them is in no step: they are in no role and no busy time, and what-if cannot change "
            "them; breakdown --sidecar counts those that marks give to a call."
        )
        warnings.append({"code": "outside_steps", "count": count, "text": text})
    return warnings
