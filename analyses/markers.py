"""The ranges of a run that mark steps, by the first grammar that fits.

Grammars are data (rules/markers.toml, user rules on top, or one `--marker REGEX`).
Ranges of library domains and ranges inside another match never mark a step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.ops import Ints
from stepprof.analyses.rules import RuleSet
from stepprof.profiler.errors import UsageError
from stepprof.profiler.store import Store

SQL = Path(__file__).with_name("ranges.sql")


@dataclass(frozen=True)
class Ranges:
    """The program's own ranges, by start; arrays of one entry a range."""

    process: Ints
    thread: Ints
    start: Ints  # ns
    end: Ints  # ns
    name: Ints  # index into names
    names: list[str]


@dataclass(frozen=True)
class Marker:
    """One range that marks a step."""

    index: int  # into Ranges
    label: str
    phase: str | None


def load_ranges(store: Store, rules: RuleSet) -> Ranges:
    """All ranges but those of library domains."""
    store.con.execute(SQL.read_text())
    table = store.arrays(
        "SELECT * EXCLUDE (domain, text) FROM _range WHERE domain IS NULL OR domain NOT IN "
        "(SELECT unnest(?::VARCHAR[])) ORDER BY start_ns, end_ns DESC",
        sorted(rules.library_domains),
    )
    names = [text for (text,) in store.rows("SELECT DISTINCT text FROM _range ORDER BY name")]
    columns = [np.ma.filled(table[c], -1).astype(np.int64) for c in ("process", "thread", "start_ns", "end_ns", "name")]
    return Ranges(*columns, names=names)


def grammars(rules: RuleSet, marker: str | None) -> list[tuple[str, list[tuple[re.Pattern[str], str | None]]]]:
    """Grammar name -> its patterns with the phase each says; `marker` replaces them all."""
    if marker is not None:
        return [(f"--marker {marker}", [(_compiled(marker), None)])]
    named: dict[str, list[tuple[re.Pattern[str], str | None]]] = {}
    for rule in rules.markers:
        named.setdefault(rule["name"], []).append((re.compile(rule["pattern"]), rule.get("phase")))
    return list(named.items())


def marked(ranges: Ranges, patterns: list[tuple[re.Pattern[str], str | None]]) -> list[Marker]:
    """The outermost ranges of each thread that match one of the patterns, by start."""
    said = {code: found for code, name in enumerate(ranges.names) if (found := _match(name, patterns)) is not None}
    if not said:
        return []
    markers: list[Marker] = []
    covered: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(np.isin(ranges.name, list(said))).tolist():
        key = (int(ranges.process[i]), int(ranges.thread[i]))
        # ranges that only overlap are steps of their own: a server may begin one before the last is over
        if key in covered and ranges.start[i] < covered[key] and ranges.end[i] <= covered[key]:
            continue
        covered[key] = int(ranges.end[i])
        code = int(ranges.name[i])
        markers.append(Marker(i, ranges.names[code], said[code][0]))
    return markers


def marker_names(ranges: Ranges, rules: RuleSet, marker: str | None) -> set[str]:
    """Names of ranges that mark steps in any grammar; they label no op."""
    every = [
        pattern
        for _, patterns in [*grammars(rules, None), *(grammars(rules, marker) if marker else [])]
        for pattern in patterns
    ]
    return {name for name in ranges.names if _match(name, every) is not None}


def _match(name: str, patterns: list[tuple[re.Pattern[str], str | None]]) -> tuple[str | None] | None:
    for pattern, phase in patterns:
        if pattern.search(name):
            return (phase,)
    return None


def _compiled(marker: str) -> re.Pattern[str]:
    try:
        return re.compile(marker)
    except (re.error, OverflowError, RecursionError) as fault:
        raise UsageError(f"--marker {marker!r} is not a regular expression ({fault}): correct the pattern.") from None
