"""Calls by class: of the prompts, as facts name it, or whole runs that --class sets beside the answer.

class_of = step_classes(store, waits)
by_class(store, waits, pieces.length, class_of)[0].join_wait_us      # per step
beside_runs(answer, [("prose", other)]).classes[-1].name             # "prose"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.selection import as_slices
from stepprof.analyses.sidecar.facts import call_facts, step_numbers
from stepprof.analyses.sidecar.result import ClassWait, Sidecar
from stepprof.analyses.sidecar.waits import Waits
from stepprof.profiler.store import Store


def step_classes(store: Store, waits: Waits) -> list[str | None]:
    """The class of each step of the trace by its facts."""
    told = dict(store.rows("SELECT step, max(class) FROM step_fact WHERE class IS NOT NULL GROUP BY step"))
    return [told.get(number) for number in step_numbers(waits.scene.found.steps)]


def by_class(store: Store, waits: Waits, length: Ints, class_of: list[str | None]) -> list[ClassWait]:
    """Classes of prompts by name, where the facts name any."""
    names = sorted({name for i in waits.steps if (name := class_of[i]) is not None})
    found: list[ClassWait] = []
    for name in names:
        steps = [i for i in waits.steps if class_of[i] == name]
        at = np.flatnonzero(np.isin(waits.calls.step, steps))
        facts = call_facts(store, waits.scene.found.steps, steps)
        skipped = int(facts.skipped.sum()) / max(len(facts.step), 1) if len(facts.step) else None
        rows = waits.calls.rows[at]
        found.append(
            ClassWait(
                name=name,
                own_run=False,
                steps=len(steps),
                steps_used=as_slices(steps),
                calls=len(at) / len(steps),
                mean_rows=float(rows.mean()) if len(rows) and (rows != UNKNOWN).all() else None,
                skipped_share=skipped,
                p50_us=float(np.median(length[at])) / 1e3 if len(at) else None,
                join_wait_us=float(waits.counted[at].sum()) / 1e3 / len(steps),
                away_us=float(waits.away[at].sum()) / 1e3 / len(steps),
            )
        )
    return found


def _class_of_run(name: str, answer: Sidecar) -> ClassWait:
    """A whole run as a class."""
    rows = [call.rows for call in answer.table]
    known = [r for r in rows if r is not None]
    return ClassWait(
        name=name,
        own_run=True,
        steps=answer.steps,
        steps_used=as_slices([step.step for step in answer.by_step]),
        calls=answer.calls / answer.steps,
        mean_rows=sum(known) / len(known) if known and len(known) == len(rows) else None,
        skipped_share=answer.skipped_share,
        p50_us=answer.all.p50_us,
        join_wait_us=answer.join_wait_us_per_step,
        away_us=answer.away_us_per_step,
        tracing_inflation=None if answer.inflation is None else answer.inflation.ratio,
    )


def beside_runs(answer: Sidecar, runs: Sequence[tuple[str, Sidecar]]) -> Sidecar:
    """The answer with further runs as classes, and their warnings by name."""
    classes = [_class_of_run(name, other) for name, other in runs]
    warnings = [
        warning | {"class": name, "text": f"class {name}: {warning['text']}"}
        for name, other in runs
        for warning in other.warnings
    ]
    return replace(answer, classes=[*answer.classes, *classes], warnings=[*answer.warnings, *warnings])
