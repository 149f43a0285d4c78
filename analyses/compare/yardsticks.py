"""Figures of several sources for one metric side by side, so that quoting one shows all: stepprof yardsticks.

    ours = "GB300"              # optional: the source that ratios are of
    [[figure]]
    source = "GB300"            # the setup that the figure is of
    metric = "tokens/s"
    test = "coding test"
    class = "code"              # optional, as are mode, concurrency and note
    mode = "thinking off"
    concurrency = 1
    value = 476                 # or range = [239, 260]
    kind = "measured"           # measured, modelled, simulated, quoted
    by = "us"                   # who measured
    origin = "own"              # own, re-run, published

A ratio is of two figures with one metric, class and concurrency; where their test or mode differs, it says so.
A spread is of the classes of one source, metric, test, mode and concurrency.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepprof.analyses.toml_entries import Key, checked_file, nearest
from stepprof.profiler.errors import InputError

KINDS = ("measured", "modelled", "simulated", "quoted")
ORIGINS = ("own", "re-run", "published")
KEYS = (
    Key("source", str),
    Key("metric", str),
    Key("test", str),
    Key("class", str, required=False),
    Key("mode", str, required=False),
    Key("concurrency", int, required=False),
    Key("value", float, required=False),
    Key("range", list, required=False),
    Key("kind", str, words=KINDS),
    Key("by", str),
    Key("origin", str, words=ORIGINS),
    Key("note", str, required=False),
)


@dataclass(frozen=True)
class Yardstick:
    """One figure with all that must be said beside it; `low` is `high` where it is a point."""

    source: str
    metric: str
    test: str
    class_: str | None
    mode: str | None
    concurrency: int | None
    low: float
    high: float
    kind: str
    by: str
    origin: str
    note: str | None


@dataclass(frozen=True)
class Ratio:
    """A figure of ours over one of another source; `differs` names what they do not share."""

    ours: Yardstick
    other: Yardstick
    low: float
    high: float
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Spread:
    """The largest over the smallest figure of a source's classes."""

    source: str
    metric: str
    test: str
    mode: str | None
    concurrency: int | None
    largest: str
    smallest: str
    low: float
    high: float


@dataclass(frozen=True)
class Yardsticks:
    """All figures, in the order of the file within each metric."""

    source: str
    ours: str | None
    figures: tuple[Yardstick, ...]
    ratios: tuple[Ratio, ...]
    spreads: tuple[Spread, ...]


def yardsticks(path: Path) -> Yardsticks:
    """The figures of a file with their ratios and spreads; InputError names the line at fault."""
    top, entries = checked_file(path, "figure", KEYS, ("ours",))
    figures = [_yardstick(path, number, entry) for number, entry in enumerate(entries, 1)]
    ours, sources = top.get("ours"), list(dict.fromkeys(figure.source for figure in figures))
    if ours is not None and ours not in sources:
        raise InputError(f'{path}: ours = "{ours}" is no source of a figure: {nearest(ours, sources)}.')
    metrics = list(dict.fromkeys(figure.metric for figure in figures))
    figures.sort(key=lambda figure: metrics.index(figure.metric))  # stable, so the order of the file stays
    return Yardsticks(path.name, ours, tuple(figures), tuple(_ratios(figures, ours)), tuple(_spreads(figures)))


def _yardstick(path: Path, number: int, entry: dict[str, Any]) -> Yardstick:
    if ("value" in entry) == ("range" in entry):
        raise InputError(f"{path}, [[figure]] {number}: give either value or range.")
    low, high = entry["range"] if "range" in entry else (entry["value"], entry["value"])
    if low <= 0:
        raise InputError(f"{path}, [[figure]] {number}: a figure must be above 0, since ratios are made of it.")
    text = {key: entry.get(key) for key in ("class", "mode", "concurrency", "note")}
    return Yardstick(
        source=entry["source"],
        metric=entry["metric"],
        test=entry["test"],
        class_=text["class"],
        mode=text["mode"],
        concurrency=text["concurrency"],
        low=float(low),
        high=float(high),
        kind=entry["kind"],
        by=entry["by"],
        origin=entry["origin"],
        note=text["note"],
    )


def _ratios(figures: list[Yardstick], ours: str | None) -> list[Ratio]:
    """Every figure of ours over every comparable one of another source."""
    return [
        Ratio(mine, other, mine.low / other.high, mine.high / other.low, _differs(mine, other))
        for mine in figures
        if mine.source == ours
        for other in figures
        if other.source != ours and _cell(other) == _cell(mine)
    ]


def _cell(figure: Yardstick) -> tuple[str, str | None, int | None]:
    return (figure.metric, figure.class_, figure.concurrency)


def _differs(a: Yardstick, b: Yardstick) -> tuple[str, ...]:
    return tuple(name for name in ("test", "mode") if getattr(a, name) != getattr(b, name))


def _spreads(figures: list[Yardstick]) -> list[Spread]:
    groups: dict[tuple[Any, ...], list[Yardstick]] = {}
    for figure in figures:
        if figure.class_ is not None:
            key = (figure.source, figure.metric, figure.test, figure.mode, figure.concurrency)
            groups.setdefault(key, []).append(figure)
    return [_spread(group) for group in groups.values() if len({figure.class_ for figure in group}) > 1]


def _spread(group: list[Yardstick]) -> Spread:
    """Between the middles' largest and smallest; bounds from the ends of their ranges."""
    by_middle = sorted(group, key=lambda figure: figure.low + figure.high)
    small, large = by_middle[0], by_middle[-1]
    head = (large.source, large.metric, large.test, large.mode, large.concurrency)
    return Spread(*head, large.class_ or "", small.class_ or "", large.low / small.high, large.high / small.low)
