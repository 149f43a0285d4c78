"""What each mode of a bench saves against the first, and whether that meets the bar.

    for one in savings(file, bar_us=20.0): one.rows, one.mode, one.saved_us, one.verdict

Blocks of two modes that were timed in turn pair up: the saving is the mean of the differences of their medians, with
a two-sided 95 % Student t interval over the blocks. Without blocks it is the difference of the two p50s, a point.
A bar has nothing to judge where no two modes are of the same thing at the same rows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stepprof.analyses.bench.results import BenchFile, BenchResult, Kind
from stepprof.analyses.statistics.student import t_quantile
from stepprof.profiler.errors import UsageError

Verdict = Literal["yes", "no", "open"]
CONFIDENCE = 0.95
NOTHING = "a bar needs two modes of the same thing at the same rows, and the bench file has none"
KINDS: tuple[Kind, ...] = ("measured", "modelled", "simulated", "quoted")  # a difference is of the later one's kind


@dataclass(frozen=True)
class Saving:
    """One mode against the first one of the same thing at the same rows; times in µs, more is better."""

    name: str
    rows: int
    mode: str
    against: str
    saved_us: float
    low_us: float | None
    high_us: float | None
    blocks: int
    kind: Kind
    bar_us: float | None
    verdict: Verdict | None


def savings(file: BenchFile, bar_us: float | None = None) -> list[Saving]:
    """All modes but the first, in the file's order; the file's own bar where none is given.

    UsageError where a bar is given and there is nothing to compare.
    """
    own = None if file.bar_us is None else file.bar_us.value
    bar = own if bar_us is None else bar_us
    first: dict[tuple[str, int], BenchResult] = {}
    found: list[Saving] = []
    for one in file.results:
        base = first.setdefault((one.name, one.rows), one)
        if base is not one:
            found.append(_saving(base, one, bar))
    if bar_us is not None and not found:
        raise UsageError(f"--bar {bar_us:g}: {NOTHING}: leave it out, or bench another mode beside it.")
    return found


def unjudged(file: BenchFile, found: Sequence[Saving]) -> list[dict[str, Any]]:
    """A warning where the file's own bar has nothing to judge."""
    if file.bar_us is None or found:
        return []
    return [{"code": "bar_unjudged", "count": 1, "text": f"the file's bar of {file.bar_us.value:g} µs: {NOTHING}."}]


def _saving(base: BenchResult, one: BenchResult, bar_us: float | None) -> Saving:
    kinds: tuple[Kind, ...] = (base.p50_us.kind, one.p50_us.kind)
    kind = max(kinds, key=KINDS.index)
    saved, low, high, blocks = base.p50_us.value - one.p50_us.value, None, None, 0
    if len(base.block_p50_us) == len(one.block_p50_us) >= 2:
        differences = [a - b for a, b in zip(base.block_p50_us, one.block_p50_us, strict=True)]
        blocks, saved = len(differences), statistics.mean(differences)
        half = t_quantile((1 + CONFIDENCE) / 2, blocks - 1) * statistics.stdev(differences) / math.sqrt(blocks)
        low, high = saved - half, saved + half
    verdict = None if bar_us is None else _verdict(saved, low, high, bar_us)
    return Saving(one.name, one.rows, one.mode, base.mode, saved, low, high, blocks, kind, bar_us, verdict)


def _verdict(saved: float, low: float | None, high: float | None, bar: float) -> Verdict:
    """`open` where the interval holds the bar; a point without an interval decides by itself."""
    if low is None or high is None:
        return "yes" if saved >= bar else "no"
    return "yes" if low >= bar else "no" if high < bar else "open"
