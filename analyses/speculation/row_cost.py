"""What a draft row costs, from steps that drafted differently: `row_cost(records)`.

Least squares of the period on the drafts of a step, with a constant of its own for every class, so that classes
that draft more and take longer for another reason do not count as rows.
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.speculation.acceptance import TWO_SIDED
from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.speculation.step_records import Records

ENOUGH = 10  # steps beside the constants and the slope


def row_cost(records: Records) -> tuple[Figure | None, str | None]:
    """Cost of a row in ms with its 95 % interval; or None and why it cannot be told."""
    if records.period_ns is None:
        return None, "the steps have no times"
    if (records.batch > 1).any():
        return None, "a batch drafts for several sequences at once: record one sequence"
    drafted, period = records.drafted.astype(float), records.period_ns / 1e6  # [steps]
    _, class_ = np.unique(records.class_, return_inverse=True)
    count = np.bincount(class_)
    x = drafted - (np.bincount(class_, drafted) / count)[class_]
    y = period - (np.bincount(class_, period) / count)[class_]
    spread = float(x @ x)
    if spread == 0:
        return None, "every step of a class drafted equally many: record steps with another k too"
    slope, free = float(x @ y) / spread, len(x) - len(count) - 1
    if free < ENOUGH:
        return None, f"{len(x)} steps are too few to tell"
    error = float((((y - slope * x) ** 2).sum() / free / spread) ** 0.5)
    return Figure(slope, "measured", slope - TWO_SIDED * error, slope + TWO_SIDED * error), None
