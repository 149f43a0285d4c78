"""The latest entry of a group up to a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepprof.analyses.latest import latest
from stepprof.analyses.ops import UNKNOWN

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 20)), max_size=12)


def column(rows, i):
    return np.array([row[i] for row in rows], dtype=np.int64)


@given(pairs, pairs)
def test_latest_is_what_a_search_by_hand_finds(entries, questions):
    found = latest(*(column(rows, i) for rows in (entries, questions) for i in (0, 1)))
    for (group, at), place in zip(questions, found.tolist(), strict=True):
        times = [time for g, time in entries if g == group and time <= at]
        assert (place == UNKNOWN) == (not times)
        if times:
            assert entries[place] == (group, max(times))
