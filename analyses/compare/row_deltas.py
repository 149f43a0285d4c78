"""Where a difference went: exposed time by role, kind, layer and gap class, candidate minus control.

    deltas = row_deltas([profile.rows["role"] for profile in control], [… candidate])

A row's bound is what chance among launches explains (half of Welch's 95 % interval); there is none with
one launch an arm. With many rows some pass their bound by chance: 1 in 20.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.statistics import welch


@dataclass(frozen=True)
class RowDelta:
    """One key; means over the launches. Times are ns a step, a key that an arm lacks counts as 0 there."""

    key: str
    control: float
    candidate: float
    delta: float
    bound: float | None

    @property
    def beyond(self) -> bool:
        """Larger than chance among launches explains."""
        return self.bound is not None and abs(self.delta) > self.bound


def row_delta(key: str, control: Sequence[float], candidate: Sequence[float]) -> RowDelta:
    """One row from one value a launch."""
    before, after = float(np.mean(control)), float(np.mean(candidate))
    bound = None
    if min(len(control), len(candidate)) >= 2:
        shift = welch(control, candidate)
        bound = shift.high - shift.estimate
    return RowDelta(key, before, after, after - before, bound)


def row_deltas(control: Sequence[Mapping[str, float]], candidate: Sequence[Mapping[str, float]]) -> list[RowDelta]:
    """All keys of either arm, largest change first."""
    keys = dict.fromkeys(key for rows in (*control, *candidate) for key in rows)
    found = [row_delta(key, *([rows.get(key, 0.0) for rows in arm] for arm in (control, candidate))) for key in keys]
    return sorted(found, key=lambda row: (-abs(row.delta), row.key))
