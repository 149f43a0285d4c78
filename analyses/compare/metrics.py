"""The figures that a gate may be about: each is a function of one launch.

    metric = metric_of("tokens_per_s:code@1")
    metric.read(launch).value, metric.unit, metric.better

    step_ms                        median steady step
    exposed_ms:ROLE                exposed time of a role, mean per step (needs ops)
    gap_ms:CLASS                   time in a gap class, mean per step (needs ops)
    tokens_per_s:CLASS@CONCURRENCY of a `stepprof run --json` document
    json:PATH                      any figure of the program's JSON document, by dotted path
    sidecar_call_us, sidecar_call_us:ROWS   median call of the sidecar (needs ops)
    join_wait_us                   what the main card waited for it at joins, mean per step (needs ops)

A new figure is one more line of MAKERS.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.compare.launches import Launch
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.sidecar.answer import sidecar
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.analyses.vocabulary import ROLES
from stepprof.profiler.errors import Refused, UsageError

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Reading:
    """One value, and whether it is measured, simulated, modelled or quoted."""

    value: float
    kind: str


@dataclass(frozen=True)
class Metric:
    """A figure of a launch; `better` tells which way is an improvement, None where the user must say."""

    name: str
    unit: str
    better: Better | None
    read: Callable[[Launch], Reading]


def metric_of(text: str) -> Metric:
    """The metric of a name; UsageError with the names there are."""
    name, _, argument = text.partition(":")
    if name not in MAKERS:
        raise UsageError(f"there is no metric {name!r}: choose of {', '.join(MAKERS)}.")
    return MAKERS[name](text, argument)


def _step_ms(text: str, argument: str) -> Metric:
    return Metric(text, "ms", "lower", _median_step)


def _median_step(launch: Launch) -> Reading:
    if not len(launch.step_ms):
        raise Refused(f"{launch.name} has no step times: trace it, mark its steps, or let it print step_ms.")
    return Reading(float(np.median(launch.step_ms)), launch.figure_kind)


def _exposed_ms(text: str, argument: str) -> Metric:
    if argument not in ROLES:
        raise UsageError(f"metric {text!r} names no role: exposed_ms:ROLE, ROLE one of {', '.join(ROLES)}.")
    return Metric(text, "ms", "lower", lambda launch: Reading(_row(launch, argument), "measured"))


def _gap_ms(text: str, argument: str) -> Metric:
    if argument not in CLASSES:
        raise UsageError(f"metric {text!r} names no gap class: gap_ms:CLASS, CLASS one of {', '.join(CLASSES)}.")
    return Metric(text, "ms", "lower", lambda launch: Reading(_gap(launch, argument), "measured"))


def _tokens_per_s(text: str, argument: str) -> Metric:
    class_, at, batch = argument.partition("@")
    if not class_ or (at and not batch.isdecimal()):
        raise UsageError(f"metric {text!r} names no cell: tokens_per_s:CLASS@CONCURRENCY, for example :code@1.")

    def read(launch: Launch) -> Reading:
        cells = throughput_cells(launch)
        found = cells.get(argument if at else f"{class_}@{next(iter(cells), '').rpartition('@')[2]}")
        if found is None:
            raise Refused(f"{launch.name} has no cell {argument}, it has {', '.join(cells) or 'none'}: run that class.")
        return found

    return Metric(text, "tokens/s", "higher", read)


def _json(text: str, path: str) -> Metric:
    if not path:
        raise UsageError(f"metric {text!r} names no path: json:PATH, for example json:classes.0.kept_per_step.")

    def read(launch: Launch) -> Reading:
        if launch.document is None:
            raise Refused(f"{launch.name} comes without a JSON document: let the program print one (--json).")
        return figure_at(launch.document, path, launch.name)

    return Metric(text, "", None, read)


def _sidecar_call_us(text: str, argument: str) -> Metric:
    if argument and not argument.isdecimal():
        raise UsageError(f"metric {text!r} names no number of rows: sidecar_call_us or sidecar_call_us:ROWS.")

    def read(launch: Launch) -> Reading:
        found = _sidecar_of(launch)
        groups = [group for group in found.per_rows if group.rows == int(argument)] if argument else [found.all]
        if not groups:
            raise Refused(f"{launch.name} has no sidecar call of {argument} rows: see stepprof breakdown --sidecar.")
        return Reading(groups[0].p50_us, "measured")

    return Metric(text, "µs", "lower", read)


def _join_wait_us(text: str, argument: str) -> Metric:
    return Metric(text, "µs", "lower", lambda launch: Reading(_sidecar_of(launch).join_wait_us_per_step, "measured"))


def _sidecar_of(launch: Launch) -> Sidecar:
    found = _ops_of(launch)
    assert launch.store is not None, f"{launch.name=}"
    return sidecar(launch.store, found, steady(launch))


MAKERS: dict[str, Callable[[str, str], Metric]] = {
    "step_ms": _step_ms,
    "exposed_ms": _exposed_ms,
    "gap_ms": _gap_ms,
    "tokens_per_s": _tokens_per_s,
    "json": _json,
    "sidecar_call_us": _sidecar_call_us,
    "join_wait_us": _join_wait_us,
}


def throughput_cells(launch: Launch) -> dict[str, Reading]:
    """tokens/s by CLASS@CONCURRENCY of the launch's `stepprof run` document; empty without one."""
    document = launch.document or {}
    options, classes = document.get("options"), document.get("classes")
    if not isinstance(options, dict) or not isinstance(classes, list):
        return {}
    batch = options.get("batch", 1)
    return {
        f"{one['class']}@{batch}": figure_at(one, "tokens_per_s", launch.name)
        for one in classes
        if isinstance(one, dict) and "class" in one and "tokens_per_s" in one
    }


def figure_at(document: Any, path: str, name: str) -> Reading:
    """The number at a dotted path; {"value", "kind"} says its kind, a bare number counts as measured."""
    at: Any = document
    for part in path.split("."):
        if isinstance(at, list) and part.lstrip("-").isdecimal() and -len(at) <= int(part) < len(at):
            at = at[int(part)]
        elif isinstance(at, dict) and part in at:
            at = at[part]
        else:
            known = f"it has {', '.join(map(str, at))[:120]}" if isinstance(at, dict) else "nothing of that name"
            raise Refused(f"{name} has no figure {path} ({part!r} is not there, {known}): correct the path.")
    kind = str(at.get("kind", "measured")) if isinstance(at, dict) else "measured"
    value = at.get("value") if isinstance(at, dict) else at
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused(f"{name}: {path} is no number: correct the path.")
    return Reading(float(value), kind)


def _row(launch: Launch, role: str) -> float:
    made = breakdown(_ops_of(launch), "role", steady(launch))
    return sum(row.exposed_ns for row in made.rows if row.key == role) / 1e6


def _gap(launch: Launch, class_: str) -> float:
    made = breakdown(_ops_of(launch), "role", steady(launch))
    return sum(gap.exposed_ns for gap in made.gaps if gap.class_ == class_) / 1e6


def steady(launch: Launch) -> list[int]:
    """The steps of a traced launch that its step times are made of."""
    assert launch.found is not None, f"{launch.name=}"
    return launch.found.steps.usable[-len(launch.step_ms) :]


def _ops_of(launch: Launch) -> Any:
    if launch.found is None:
        raise Refused(f"{launch.name} was not traced, so it has no ops: run the gate without --untraced.")
    return launch.found
