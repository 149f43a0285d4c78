"""What the same calls twice point at: the posts' shares, a race, and what cannot be told."""

import json
from pathlib import Path

import pytest

from stepprof.analyses.bench.determinism import Group, Line, determinism, read_groups
from stepprof.profiler.errors import InputError

# the posts: every call of more than one row differs, and 29 % of single-row calls, those that sum two or more experts
POSTS = [
    Group("atomic", 1, 1, 20_624, 0, 0),
    Group("atomic", 1, 2, 8_424, 8_424, 1),
    Group("atomic", 4, 3, 70_952, 70_952, 2),
]


def test_the_posts_calls():
    (one,) = determinism(POSTS)
    assert (one.calls, one.differ, f"{one.share:.1%}", one.max_ulp) == (100_000, 79_376, "79.4%", 2)
    assert f"{one.by_rows[0].share:.0%}" == "29%"
    assert one.by_rows == (Line(1, 29_048, 8_424, 8_424 / 29_048, 1), Line(4, 70_952, 70_952, 1.0, 2))
    assert [(line.key, line.calls, line.differ) for line in one.by_experts] == [
        (1, 20_624, 0),
        (2, 8_424, 8_424),
        (3, 70_952, 70_952),
    ]
    assert one.points_at == (
        "an order-dependent sum over experts, added in parts or onto a value that is there already: 8,424 of 8,424 sums of "
        "two differ, and two alone have no order; calls whose rows sum one expert never differ (20,624 of them)"
    )


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([Group("ordered", 1, 1, 5, 0, 0), Group("ordered", 2, 3, 5, 0, 0)], "nothing"),
        ([Group("atomic", 2, 3, 5, 1, 1)], "unknown"),
        ([Group("atomic", 1, 1, 5, 2, 9), Group("atomic", 2, 3, 5, 5, 1)], "more than the sum"),
    ],
)
def test_what_differences_point_at(groups: list[Group], words: str):
    (one,) = determinism(groups)
    assert one.points_at.startswith(words)


def test_sums_of_two_have_no_order():
    (one,) = determinism([Group("atomic", 1, e, 10, 9 * (e > 2), 1) for e in (1, 2, 3)])
    assert "(10 of them; nor do sums of two, which have no order)" in one.points_at


def test_sums_are_judged_apart():
    found = determinism([*POSTS, Group("ordered", 1, 2, 100, 0, 0)])
    assert [(one.reduce, one.differ) for one in found] == [("atomic", 79_376), ("ordered", 0)]


def test_files(tmp_path: Path):
    path = tmp_path / "twice.json"
    line = {"name": "x", "reduce": "atomic", "rows": 1, "experts": 2, "calls": 3, "differ": 1, "max_ulp": 4}
    path.write_text(json.dumps({"bench": "determinism", "results": [line]}))
    assert read_groups(path) == (Group("atomic", 1, 2, 3, 1, 4),)
    path.write_text(json.dumps({"bench": "sidecar", "results": []}))
    with pytest.raises(InputError, match=r"no bench file .*sidecar"):
        read_groups(path)
