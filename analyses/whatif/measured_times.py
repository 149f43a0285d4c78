"""Measured times out of a bench file, as what replaces an op in a proposal: `from = "bench.json"`.

    replacement(Path("sidecar.json"), Wanted(mode="persistent", rows=1))                   # its p50, µs
    replacement(Path("sidecar.json"), Wanted(mode="persistent", rows=1, against="call"))   # p50 over p50

The medians of the bench's blocks give the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from stepprof.analyses.bench.results import BenchResult, machine_of, read_bench
from stepprof.analyses.whatif.proposal_model import Given
from stepprof.profiler.errors import InputError


@dataclass(frozen=True)
class Wanted:
    """Which result of a bench file is meant; what is None may be anything, but only one result may be left."""

    result: str | None = None
    mode: str | None = None
    rows: int | None = None
    against: str | None = None  # the mode that the trace ran: the answer is a ratio


def replacement(path: Path, wanted: Wanted) -> Given:
    """p50 in µs, or its ratio to that of `against`; InputError where the file does not say it or says it twice."""
    file = read_bench(path)
    if not file.complete:
        raise InputError(f"{path}: the bench did not run to its end: run it again.")
    chosen = _one(path, file.results, wanted, wanted.mode)
    new, basis = _time(path, chosen), f"{path.name}: {chosen.name}, mode {chosen.mode}, rows {chosen.rows}"
    where = f"{new.kind} on {machine_of(file)}"
    if wanted.against is None:
        return replace(new, basis=f"{basis}: {new.value:.2f} us, {where}")
    old = _time(path, _one(path, file.results, wanted, wanted.against))
    ratio = Given(new.value / old.value, new.low / old.high, new.high / old.low, new.kind)
    return replace(ratio, basis=f"{basis}: {ratio.value:.3f} of mode {wanted.against}, {where}")


def _one(path: Path, results: tuple[BenchResult, ...], wanted: Wanted, mode: str | None) -> BenchResult:
    asked = {"name": wanted.result, "mode": mode, "rows": wanted.rows}
    fits = [one for one in results if all(value is None or getattr(one, key) == value for key, value in asked.items())]
    if len(fits) == 1:
        return fits[0]
    exist = "; ".join(f"{one.name}, mode {one.mode}, rows {one.rows}" for one in (fits or results)[:12])
    many = "no result fits" if not fits else f"{len(fits)} results fit"
    raise InputError(f"{path}: {many}: choose one by result, mode and rows; there are {exist or 'none'}.")


def _time(path: Path, one: BenchResult) -> Given:
    """p50 with the range of the block medians."""
    value = one.p50_us.value
    every = [value, *one.block_p50_us]
    if not all(math.isfinite(x) and x > 0 for x in every):
        raise InputError(f"{path}: {one.name}, mode {one.mode}: p50_us and block_p50_us must be above 0.")
    return Given(value, min(every), max(every), one.p50_us.kind)
