"""Marks of several processes that mean one step: ranks, or a sidecar that was started apart.

    step_of_marker(ranges, markers)      # [0, 0, 1, 1, …] for two processes that mark every step

The k-th mark of a name in one process and the k-th in another are one step where they
overlap in time. Marks of one process are never joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stepprof.analyses.markers import Marker, Ranges
from stepprof.analyses.ops import Ints


def step_of_marker(ranges: Ranges, markers: Sequence[Marker]) -> Ints:
    """The step of each marker; markers come by start, and so do the steps."""
    steps: list[int] = []
    met: Counter[tuple[int, str]] = Counter()
    first: dict[tuple[str, int], tuple[int, int]] = {}  # label and occurrence -> step, end of its first mark
    number = 0
    for marker in markers:
        process, start, end = (int(column[marker.index]) for column in (ranges.process, ranges.start, ranges.end))
        key = (marker.label, met[process, marker.label])
        met[process, marker.label] += 1
        if key in first and start < first[key][1]:
            steps.append(first[key][0])
        else:
            first[key] = (number, end)
            steps.append(number)
            number += 1
    return np.array(steps, dtype=np.int64)


def spans(ranges: Ranges, at: Ints, step: Ints) -> tuple[Ints, Ints]:
    """Earliest start and latest end of the marks of each step; `at` are the marks' ranges."""
    count = int(step.max(initial=-1)) + 1
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(start, step, ranges.start[at])
    np.maximum.at(end, step, ranges.end[at])
    return start, end
