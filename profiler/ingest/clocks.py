"""The clocks of several files: what to add to the times of each so that they are of one clock.

    alignment = align_clocks(parts, marker=None)
    alignment.shift[1]        # ns, for the second file

A file carries a common clock where it says what UTC time its zero was. Otherwise, or when
asked to, ranges that occur in both files tell: the k-th one of a name in the one belongs to
the k-th in the other, and the median difference of their starts is the offset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from stepprof.profiler.errors import Refused, UsageError
from stepprof.profiler.store import Store

LEAST_PAIRS = 3  # with fewer there is no telling how well they fit
MOST_RESIDUAL = 0.05  # of the time from one marker to the next
TIMES = "SELECT start_ns, end_ns FROM op UNION ALL SELECT start_ns, end_ns FROM api UNION ALL SELECT start_ns, end_ns FROM range"


@dataclass(frozen=True)
class Alignment:
    """What is added to each file's times, UTC at the common zero, and how well markers fit."""

    shift: list[int]
    epoch_ns: int | None
    fits: list[Fit]


@dataclass(frozen=True)
class Fit:
    """One file put on the first one's clock by markers."""

    source: str
    offset: int  # ns
    pairs: int
    residual: int  # ns, the largest distance of a pair from the offset


def align_clocks(parts: Sequence[Store], marker: str | None) -> Alignment:
    """Shifts that put all parts on one clock, whose zero is the earliest event; Refused where nothing tells."""
    epochs = [epoch(part) for part in parts]
    fits = [] if marker is None else [_fit(parts[0], part, marker) for part in parts[1:]]
    offsets = [0, *(fit.offset for fit in fits)] if fits else _by_epoch(parts, epochs)
    zero = min(first + offset for (first, _), offset in zip(map(span, parts), offsets, strict=True))
    known = epochs[0]
    return Alignment([offset - zero for offset in offsets], None if known is None else known + zero, fits)


def span(part: Store) -> tuple[int, int]:
    """First and last moment of a part, on its own clock."""
    first, last = part.rows(f"SELECT min(start_ns), max(end_ns) FROM ({TIMES})")[0]
    return first or 0, last or 0


def name_of(part: Store) -> str:
    """The file a part was read from."""
    return part.fact("source") or part.path.name


def epoch(part: Store) -> int | None:
    """UTC at time 0 of a part, where all its clocks say so."""
    known, zero = part.rows("SELECT bool_and(epoch_ns IS NOT NULL), min(epoch_ns) FROM clock")[0]
    return zero if known else None


def _by_epoch(parts: Sequence[Store], epochs: list[int | None]) -> list[int]:
    offsets: list[int] = []
    first = epochs[0]
    for part, zero in zip(parts, epochs, strict=True):
        if zero is None or first is None:
            unknown = name_of(part if zero is None else parts[0])
            raise Refused(
                f"{unknown} does not say what time its clock began at, so its times cannot be compared with those of the "
                "other files: pass --align MARKER, a regular expression of ranges that occur in all of them."
            )
        offsets.append(zero - first)
    return offsets


def _fit(first: Store, part: Store, marker: str) -> Fit:
    """The offset of a part by its markers; Refused where they do not fit."""
    ours, theirs = _starts(first, marker), _starts(part, marker)
    shared = [name for name in ours if len(ours[name]) == len(theirs.get(name, ()))]
    pairs = sorted((a, b) for name in shared for a, b in zip(ours[name], theirs[name], strict=True))
    names = f"{name_of(first)} and {name_of(part)}"
    if len(pairs) < LEAST_PAIRS:
        raise Refused(
            f"{names} share {len(pairs)} ranges that match --align {marker} and occur equally often in both "
            f"({_listed(ours)}; {_listed(theirs)}), at least {LEAST_PAIRS} are needed: name other ranges."
        )
    differences = [a - b for a, b in pairs]
    offset = round(median(differences))
    residual = max(abs(d - offset) for d in differences)
    period = median(b[0] - a[0] for a, b in pairwise(pairs))
    if residual > MOST_RESIDUAL * period:
        raise Refused(
            f"{names}: the {len(pairs)} ranges that match --align {marker} lie up to {residual / 1000:,.1f} µs apart after "
            f"alignment, more than {MOST_RESIDUAL:.0%} of their period of {period / 1000:,.1f} µs: these are no files of "
            "one run, or other ranges must be named."
        )
    return Fit(name_of(part), offset, len(pairs), residual)


def _starts(part: Store, marker: str) -> dict[str, list[int]]:
    """Starts of the ranges that match, by name, in order."""
    try:
        pattern = re.compile(marker)
    except (re.error, OverflowError, RecursionError) as fault:
        raise UsageError(f"--align {marker!r} is not a regular expression ({fault}): correct the pattern.") from None
    names = part.rows("SELECT DISTINCT text FROM range JOIN name USING (name_id) ORDER BY text")
    chosen = [text for (text,) in names if pattern.search(text)]
    found: dict[str, list[int]] = {text: [] for text in chosen}
    for text, start in part.rows(
        "SELECT text, start_ns FROM range JOIN name USING (name_id) WHERE text IN (SELECT unnest(?::VARCHAR[])) ORDER BY 2",
        chosen,
    ):
        found[text].append(start)
    return found


def _listed(starts: dict[str, list[int]]) -> str:
    return ", ".join(f"{len(at)} {name[:40]}" for name, at in list(starts.items())[:3]) or "none"
