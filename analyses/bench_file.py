"""Measured times out of a bench file, as what replaces an op in a proposal: `from = "bench.json"`.

    replacement(Path("sidecar.json"), Wanted(mode="persistent", rows=1))                   # its p50, µs
    replacement(Path("sidecar.json"), Wanted(mode="persistent", rows=1, against="call"))   # p50 over p50

A bench file holds `results`, each with name, rows, mode and p50_us; block_p50_us, the medians of blocks of
samples, give the bounds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from stepprof.analyses.proposal_model import Given
from stepprof.profiler.errors import InputError

WAY_OUT = "write one with stepprof bench … --json"
KINDS = ("measured", "modelled", "simulated", "quoted")


@dataclass(frozen=True)
class Wanted:
    """Which result of a bench file is meant; what is None may be anything, but only one result may be left."""

    result: str | None = None
    mode: str | None = None
    rows: int | None = None
    against: str | None = None  # the mode that the trace ran: the answer is a ratio


def replacement(path: Path, wanted: Wanted) -> Given:
    """p50 in µs, or its ratio to that of `against`; InputError where the file does not say it or says it twice."""
    results = _results(path)
    new = _time(path, _one(path, results, wanted, wanted.mode))
    if wanted.against is None:
        return new
    old = _time(path, _one(path, results, wanted, wanted.against))
    return Given(new.value / old.value, new.low / old.high, new.high / old.low, new.kind)


def _results(path: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise InputError(f"{path}: cannot be read ({fault.strerror}); {WAY_OUT}.") from None
    except ValueError:
        raise InputError(f"{path}: is not a JSON document; {WAY_OUT}.") from None
    results = cast(Any, document).get("results") if isinstance(document, dict) else None
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in cast(list[Any], results)):
        raise InputError(f"{path}: holds no results; {WAY_OUT}.")
    if cast(dict[str, Any], document).get("complete") is False:
        raise InputError(f"{path}: the bench did not run to its end; run it again.")
    return cast(list[dict[str, Any]], results)


def _one(path: Path, results: list[dict[str, Any]], wanted: Wanted, mode: str | None) -> dict[str, Any]:
    asked = {"name": wanted.result, "mode": mode, "rows": wanted.rows}
    fits = [one for one in results if all(value is None or one.get(key) == value for key, value in asked.items())]
    if len(fits) == 1:
        return fits[0]
    exist = "; ".join(
        dict.fromkeys(f"{o.get('name')}, mode {o.get('mode')}, rows {o.get('rows')}" for o in results[:12])
    )
    many = "no result fits" if not fits else f"{len(fits)} results fit"
    raise InputError(f"{path}: {many}: choose one by result, mode and rows; there are {exist}.")


def _time(path: Path, one: dict[str, Any]) -> Given:
    """p50 with the range of the block medians."""
    cell, blocks = one.get("p50_us"), one.get("block_p50_us") or []
    try:
        value = float(cell["value"])  # type: ignore[index]
        kind = str(cell["kind"])  # type: ignore[index]
        all_of_them = [value, *(float(block) for block in blocks)]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path}: {one.get('name')}: p50_us says no value and kind; {WAY_OUT}.") from None
    if kind not in KINDS or not all(math.isfinite(x) and x > 0 for x in all_of_them):
        raise InputError(f"{path}: {one.get('name')}: p50_us must be above 0 and of kind {', '.join(KINDS)}.")
    return Given(value, min(all_of_them), max(all_of_them), cast(Any, kind))
