"""The longest common subsequence: right against the plain table of lengths, and fast."""

import random
import time

import numpy as np
import pytest

from stepprof.analyses.alignment import align


def places(source: str, target: str) -> list[int]:
    return align(np.array([*map(ord, source)], np.int64), np.array([*map(ord, target)], np.int64)).tolist()


def longest(source: str, target: str) -> int:
    lengths = [0] * (len(source) + 1)
    for token in target:
        before = list(lengths)
        for j, other in enumerate(source):
            lengths[j + 1] = before[j] + 1 if token == other else max(before[j + 1], lengths[j])
    return lengths[-1]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("abc", "abc", [0, 1, 2]),
        ("abc", "ac", [0, 2]),
        ("ac", "abc", [0, -1, 1]),
        ("abcd", "xbcy", [-1, 1, 2, -1]),
        ("aab", "ab", [0, 2]),
        ("abc", "xyz", [-1, -1, -1]),
        ("", "ab", [-1, -1]),
        ("ab", "", []),
    ],
)
def test_places(source, target, expected):
    assert places(source, target) == expected


def test_as_long_as_the_plain_table_says():
    rng = random.Random(1)
    for _ in range(300):
        source, target = ("".join(rng.choices("abcd", k=rng.randrange(40))) for _ in range(2))
        found = places(source, target)
        pairs = [(i, j) for i, j in enumerate(found) if j >= 0]
        assert all(target[i] == source[j] for i, j in pairs)
        assert [j for _, j in pairs] == sorted({j for _, j in pairs})
        assert len(pairs) == longest(source, target)


def test_long_sequences_take_no_time():
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 40, (2, 1400))
    start = time.perf_counter()
    found = align(source, target)
    assert time.perf_counter() - start < 2
    assert (found >= 0).sum() > 300


def test_sequences_beyond_memory_stay_unaligned():
    found = align(np.arange(100_000), np.arange(100_000)[::-1])
    assert (found >= 0).sum() == 0
