"""Interval algebra against hand-made cases, and against sets of points."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepprof.analyses.intervals import count_up, covered, merge, subtract, union_length

Intervals = list[tuple[int, int]]
intervals = st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1])), max_size=8)


def columns(rows: Intervals) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in rows], dtype=np.int64), np.array([b for _, b in rows], dtype=np.int64)


def merged(rows: Intervals) -> Intervals:
    start, end = merge(*columns(rows))
    return list(zip(start.tolist(), end.tolist(), strict=True))


def points(rows: Intervals) -> set[int]:
    """The ns that the intervals cover, each named by its start."""
    return {x for a, b in rows for x in range(a, b)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(5, 5)], [], id="empty ones vanish"),
        pytest.param([(5, 8), (0, 3)], [(0, 3), (5, 8)], id="sorted"),
        pytest.param([(0, 5), (3, 8)], [(0, 8)], id="overlap"),
        pytest.param([(0, 5), (5, 8)], [(0, 8)], id="touch"),
        pytest.param([(0, 9), (2, 4), (8, 12)], [(0, 12)], id="inside, then over the end"),
        pytest.param([(0, 2), (1, 1), (3, 4)], [(0, 2), (3, 4)], id="an empty one bridges nothing"),
    ],
)
def test_merge(rows, expected):
    assert merged(rows) == expected


def test_the_union_of_each_group_counts_overlaps_once():
    """Group 0: 0–5 and 3–8 are 8, and 10–12 is 2; group 1: 4–6 is 2; group 2 is empty."""
    start, end = columns([(3, 8), (4, 6), (0, 5), (10, 12)])
    assert union_length(np.array([0, 1, 0, 0]), start, end, 3).tolist() == [10, 2, 0]


def test_the_union_of_nothing():
    none = np.zeros(0, np.int64)
    assert union_length(none, none, none, 2).tolist() == [0, 0]


def test_the_union_of_times_of_today():
    """Nanoseconds since 1970 in many groups stay exact."""
    base = 1_796_000_000_000_000_000
    group = np.arange(1000)
    assert union_length(group, np.full(1000, base), np.full(1000, base + 7), 1000).tolist() == [7] * 1000


def test_covered():
    """Of 0–10 the intervals 2–4 and 8–12 cover 2 + 2, of 3–9 they cover 1 + 1, of 4–8 nothing."""
    a, b = columns([(0, 10), (3, 9), (4, 8), (20, 30), (9, 9)])
    assert covered(a, b, *columns([(2, 4), (8, 12)])).tolist() == [4, 2, 0, 0, 0]
    assert covered(a, b, *columns([])).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        pytest.param([], [(0, 10), (20, 30)], id="nothing"),
        pytest.param([(3, 5)], [(0, 3), (5, 10), (20, 30)], id="a hole"),
        pytest.param([(8, 22)], [(0, 8), (22, 30)], id="over two"),
        pytest.param([(0, 10)], [(20, 30)], id="exactly one"),
        pytest.param([(-5, 40)], [], id="everything"),
        pytest.param([(10, 20), (30, 31)], [(0, 10), (20, 30)], id="only what touches"),
    ],
)
def test_subtract(cuts, expected):
    start, end = subtract(*columns([(0, 10), (20, 30)]), *columns(cuts))
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == expected


def test_count_up():
    assert count_up(np.array([2, 0, 3])).tolist() == [0, 1, 0, 1, 2]
    assert count_up(np.zeros(0, np.int64)).tolist() == []


@given(intervals)
def test_merged_intervals_are_disjoint_and_cover_the_same_points(rows):
    made = merged(rows)
    assert points(made) == points(rows)
    assert all(a < b for a, b in made)
    assert all(b < a for (_, b), (a, _) in pairwise(made))


@given(st.lists(intervals, max_size=4))
def test_union_length_counts_points(groups):
    flat = [(g, row) for g, rows in enumerate(groups) for row in rows]
    start, end = columns([row for _, row in flat])
    length = union_length(np.array([g for g, _ in flat], dtype=np.int64), start, end, len(groups))
    assert length.tolist() == [len(points(rows)) for rows in groups]


@given(intervals, intervals)
def test_covered_counts_common_points(asked, rows):
    made = covered(*columns(asked), *columns(merged(rows)))
    assert made.tolist() == [len(points([one]) & points(rows)) for one in asked]


@given(intervals, intervals)
def test_subtract_takes_points_away(rows, cuts):
    start, end = subtract(*columns(merged(rows)), *columns(merged(cuts)))
    made = list(zip(start.tolist(), end.tolist(), strict=True))
    assert points(made) == points(rows) - points(cuts)
    assert made == merged(made)
