"""The bound on two clocks' offset."""

import numpy as np
import pytest

from stepprof.analyses.sidecar.clock_offset import clock_offset


@pytest.mark.parametrize(
    ("forth", "back", "low", "high", "bound", "apart"),
    [
        ([9, 7, 8], [4, 5], -4, 7, 7, 0),
        ([3], [3], -3, 3, 3, 0),
        ([12, 15], [-2, 5], 2, 12, 12, 2),  # the other clock is at least 2 ahead
        ([-4], [9], -9, -4, 9, 4),
    ],
)
def test_shortest_gaps_both_ways_bound_the_offset(forth, back, low, high, bound, apart):
    offset = clock_offset(np.array(forth), np.array(back))
    assert offset is not None
    assert (offset.low_ns, offset.high_ns, offset.bound_ns, offset.apart_ns) == (low, high, bound, apart)


def test_one_way_alone_bounds_nothing():
    assert clock_offset(np.array([5]), np.zeros(0, np.int64)) is None


def test_gaps_that_no_offset_explains_bound_nothing():
    assert clock_offset(np.array([-5]), np.array([-5])) is None
