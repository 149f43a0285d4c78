"""The latest entry of a group up to a time, for many questions at once.

latest(group, time, in_group, at)     # index of an entry for each (in_group, at), UNKNOWN where there is none
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints


def latest(group: Ints, time: Ints, in_group: Ints, at: Ints) -> Ints:
    """For each question the entry of its group with the greatest time at or before `at`; of equals the last one."""
    if len(group) == 0 or len(in_group) == 0:
        return np.full(len(in_group), UNKNOWN, dtype=np.int64)
    rank = np.unique(np.concatenate([group, in_group]), return_inverse=True)[1].astype(np.int64)
    base = min(int(time.min()), int(at.min()))
    span = max(int(time.max()), int(at.max())) - base + 1
    assert (int(rank.max()) + 1) * span < 2**62, f"{span=} ns in {int(rank.max()) + 1} groups is beyond int64"
    lifted = rank[: len(group)] * span + (time - base)
    order = np.argsort(lifted, kind="stable")
    place = np.searchsorted(lifted[order], rank[len(group) :] * span + (at - base), side="right") - 1
    found = order[np.maximum(place, 0)]
    return np.where((place >= 0) & (group[found] == in_group), found, UNKNOWN)
