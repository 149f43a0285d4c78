"""Whether the same sidecar calls come out the same twice, and what differences point at.

    for one in determinism(read_groups(path)): one.share, one.points_at

A sum of floating-point numbers depends on its order. A row that sums one expert has no order: where no call of such
rows ever differs and calls that sum more do, the sum over experts runs in an order of its own each time. A sum of two has
none either (a + b = b + a), so with one addition for each expert differences begin at three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from stepprof.analyses.bench.results import decoded


class Group(msgspec.Struct, frozen=True):
    """Calls of the same rows whose rows sum at most `experts` experts; differences in units in the last place."""

    reduce: str
    rows: int
    experts: int
    calls: int
    differ: int
    max_ulp: int


class _File(msgspec.Struct, frozen=True):
    bench: Literal["determinism"]
    results: tuple[Group, ...]


@dataclass(frozen=True)
class Line:
    """One number of rows, or of experts."""

    key: int
    calls: int
    differ: int
    share: float
    max_ulp: int


@dataclass(frozen=True)
class Determinism:
    """All calls with one way to sum."""

    reduce: str
    calls: int
    differ: int
    share: float
    max_ulp: int
    by_rows: tuple[Line, ...]
    by_experts: tuple[Line, ...]
    points_at: str


def read_groups(path: Path) -> tuple[Group, ...]:
    """The groups of a file of `stepprof bench determinism -o FILE`; InputError where it is none."""
    return decoded(path, _File).results


def determinism(groups: Sequence[Group]) -> list[Determinism]:
    """One for each way to sum, in the order of the groups."""
    return [_judged(name, [g for g in groups if g.reduce == name]) for name in dict.fromkeys(g.reduce for g in groups)]


def _judged(reduce: str, groups: Sequence[Group]) -> Determinism:
    total = _line(0, groups)
    return Determinism(
        reduce=reduce,
        calls=total.calls,
        differ=total.differ,
        share=total.share,
        max_ulp=total.max_ulp,
        by_rows=_lines(groups, lambda g: g.rows),
        by_experts=_lines(groups, lambda g: g.experts),
        points_at=_points_at(
            total, _line(1, [g for g in groups if g.experts <= 1]), _line(2, [g for g in groups if g.experts == 2])
        ),
    )


def _lines(groups: Sequence[Group], key: Callable[[Group], int]) -> tuple[Line, ...]:
    return tuple(_line(value, [g for g in groups if key(g) == value]) for value in sorted({key(g) for g in groups}))


def _line(key: int, groups: Sequence[Group]) -> Line:
    calls, differ = sum(g.calls for g in groups), sum(g.differ for g in groups)
    return Line(key, calls, differ, differ / calls if calls else 0.0, max((g.max_ulp for g in groups), default=0))


def _points_at(total: Line, single: Line, pairs: Line) -> str:
    """In words; `single` and `pairs` are the calls whose rows sum at most one and two experts."""
    if not total.differ:
        return "nothing: every call came out the same twice"
    if not single.calls:
        return "unknown: no call had rows of one expert only, so the sum cannot be told from the rest"
    if not single.differ:
        if pairs.differ:
            return (
                "an order-dependent sum over experts, added in parts or onto a value that is there already: "
                f"{pairs.differ:,} of {pairs.calls:,} sums of two differ, and two alone have no order; calls whose rows "
                f"sum one expert never differ ({single.calls:,} of them)"
            )
        two = "; nor do sums of two, which have no order" if pairs.calls else ""
        return (
            "an order-dependent sum over experts: calls whose rows sum one expert never differ "
            f"({single.calls:,} of them{two}), calls that sum more do"
        )
    return (
        f"more than the sum over experts: {single.differ:,} of {single.calls:,} calls whose rows sum one expert "
        "differ as well, so look at the products (split-K, atomics) or for a race"
    )
