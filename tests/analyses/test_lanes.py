"""Branches side by side: an op goes on where what it waited for ended, ops of one lane never overlap."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepprof.analyses.lanes import interval_lanes, lanes
from tests.analyses.accounts import account
from tests.profiler.report.two_branches import two_branches


def test_an_op_goes_on_in_the_lane_of_what_it_waited_for():
    found = account(two_branches())
    at = np.arange(len(found.ops))
    names = [found.ops.names[i][:1] for i in found.ops.name]
    lane = dict(zip(names, lanes(found.ops, found.deps.predecessor, at).tolist(), strict=True))
    assert lane == {"a": 0, "<": 0, "=": 1, "d": 0, "e": 0}


def test_intervals_take_the_first_free_lane():
    start, end = np.array([0, 5, 10, 12]), np.array([10, 15, 11, 20])
    assert interval_lanes(start, end).tolist() == [0, 1, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_intervals_of_one_lane_never_overlap(pairs: list[tuple[int, int]]):
    start = np.array(sorted(a for a, _ in pairs), dtype=np.int64)
    end = start + np.array([b for _, b in pairs], dtype=np.int64)
    lane = interval_lanes(start, end)
    for number in set(lane.tolist()):
        mine = lane == number
        assert (end[mine][:-1] <= start[mine][1:]).all()
