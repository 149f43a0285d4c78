"""One launch of a program as comparisons see it: its steady steps, its settings, what else it said.

    launch = launch_of_store(store, warm_up=2)         # a recorded run, with its ops or with marks alone
    launch = launch_of_document(document, "a.json")    # the answer of `stepprof run --json`

Leading steps that take many times as long as a typical one are warm-up, and so are the first
`warm_up` ones; they are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from stepprof.analyses.attribution import Attribution, Question, attribute, no_steps
from stepprof.analyses.compare.settings import document_settings, run_settings
from stepprof.analyses.inflation import OTHER_TIMES, TracingInflation
from stepprof.analyses.markers import Marker, Ranges, grammars, load_ranges, marked
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import WARM_UP
from stepprof.profiler.errors import InputError, Refused
from stepprof.profiler.store import Store

Kind = Literal["trace", "marks", "document"]
MOST_IN_PERIOD = 0.8  # a marker shorter than this share of the period does not hold its step


@dataclass(frozen=True)
class Launch:
    """Steady steps in ms, in their order; `left_out` counts the others."""

    name: str
    kind: Kind
    step_ms: np.ndarray
    left_out: int
    measure: str  # what a step's time is
    settings: dict[str, str] = field(default_factory=dict[str, str])
    inflation: TracingInflation | None = None
    figure_kind: str = "measured"
    document: dict[str, Any] | None = None
    found: Attribution | None = None
    doubts: tuple[str, ...] = ()  # warnings of the run that concern its times
    store: Store | None = None  # open as long as the launch is read


def launch_of_store(
    store: Store, question: Question | None = None, warm_up: int = 0, document: dict[str, Any] | None = None
) -> Launch:
    """A recorded run; `document` is what its program printed, if that is at hand."""
    settings = run_settings(store) | (document_settings(document) if document else {})
    name = store.path.name
    if has_marks_alone(store):
        times, measure = _marked_times(store, question or Question())
        steady, left_out = steady_steps(times, warm_up, name)
        return Launch(name, "marks", steady, left_out, measure, settings, document=document)
    found = attribute(store, question)
    kept = found.steps.usable[warm_up:]
    if not kept:
        raise Refused(f"{name}: no steady step is left of {len(found.steps)}: record more steps or lower --warm-up.")
    walls = found.steps.wall[kept] / 1e6
    left_out = len(found.steps) - len(kept)
    return Launch(
        name,
        "trace",
        walls,
        left_out,
        "window",
        settings,
        found.inflation,
        document=document,
        found=found,
        doubts=tuple(w["text"] for w in store.warnings() if w["code"] in OTHER_TIMES),
        store=store,
    )


def launch_of_document(document: dict[str, Any], name: str, warm_up: int = 0) -> Launch:
    """The answer of `stepprof run --json`: the steps of all its classes; InputError where it has none."""
    steady: list[np.ndarray] = []
    left_out, kinds = 0, set[str]()
    for one in _classes(document, name):
        times, kind = _class_times(one, name)
        kinds.add(kind)
        kept, lost = steady_steps(times, warm_up, name)
        steady.append(kept)
        left_out += lost
    kind = "simulated" if "simulated" in kinds else "measured"
    settings = document_settings(document)
    times = np.concatenate(steady)
    return Launch(name, "document", times, left_out, "host clock", settings, None, kind, document)


def launch_of_figures(document: dict[str, Any], name: str) -> Launch:
    """A program's JSON document of any form: figures by path, no steps."""
    return Launch(name, "document", np.zeros(0), 0, "none", document_settings(document), document=document)


def is_run_document(document: Any) -> bool:
    """Whether a JSON document is the answer of `stepprof run --json`."""
    return isinstance(document, dict) and "preset" in document and isinstance(document.get("classes"), list)


def has_marks_alone(store: Store) -> bool:
    """Whether a run was recorded with --backend marks."""
    backend = store.value("SELECT value FROM manifest WHERE key = 'backend'")
    return backend == "marks" and not store.value("SELECT count(*) FROM op")


def steady_steps(times: np.ndarray, warm_up: int, name: str) -> tuple[np.ndarray, int]:
    """The steps without the first ones, and how many these are; at least one is kept of the long leading ones."""
    kept = times[warm_up:]
    if len(kept) >= 3:
        kept = kept[int(np.argmax(kept <= WARM_UP * float(np.median(kept)))) :]
    if not len(kept):
        raise Refused(f"{name}: all {len(times)} steps are warm-up: run more steps or leave fewer out (--warm-up).")
    return kept, len(times) - len(kept)


def _marked_times(store: Store, question: Question) -> tuple[np.ndarray, str]:
    """Times of the marks in ms: their length, or from one to the next where they only enqueue."""
    rules = load_rules(question.rules)
    ranges = load_ranges(store, rules)
    for _, patterns in grammars(rules, question.marker):
        markers = marked(ranges, patterns)
        if markers:
            return _times(ranges, markers)
    raise Refused(no_steps(store, ["no range marks a step"]))


def _times(ranges: Ranges, markers: list[Marker]) -> tuple[np.ndarray, str]:
    at = np.array([marker.index for marker in markers])
    keys = np.stack([ranges.process[at], ranges.thread[at]], axis=1)
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    at = at[group.reshape(-1) == int(count.argmax())]
    lengths, periods = ranges.end[at] - ranges.start[at], np.diff(ranges.start[at])
    if len(periods) == 0 or np.median(lengths) >= MOST_IN_PERIOD * np.median(periods):
        return lengths / 1e6, "range"
    return periods / 1e6, "period"


def _classes(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    classes = cast("list[Any]", document.get("classes") or [])
    if not classes or not all(isinstance(one, dict) for one in classes):
        raise InputError(f"{name} has no classes with steps: give the answer of stepprof run --json.")
    return classes


def _class_times(one: dict[str, Any], name: str) -> tuple[np.ndarray, str]:
    """Step times of a class in ms, and the kind of these figures."""
    try:
        times = np.asarray(one["step_ms"], dtype=float)
        kind = str(one["p50_step_ms"]["kind"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{name} has no step times (step_ms): run stepprof run --json again.") from None
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or (times < 0).any():
        raise InputError(f"{name} has step times that are none: run stepprof run --json again.")
    return times, kind
