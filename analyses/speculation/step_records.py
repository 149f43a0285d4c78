"""What each decode step drafted, kept and took: facts of the server joined to the windows of a trace.

    records = traced_records(store, Question())     # or draft_log.logged_records("LOG.csv")

A fact belongs to the step whose label carries its number (`step/3`). The time of a step is its period, start to
start; where the next step of the trace does not carry the next number, the period holds something else and is
not used. What cannot be used is left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Question, no_steps
from stepprof.analyses.inflation import TracedTimes, traced_times
from stepprof.analyses.lost_launches import flag_lost_launches
from stepprof.analyses.markers import load_ranges
from stepprof.analyses.ops import UNKNOWN, Ints, load_ops
from stepprof.analyses.refusals import refuse_unanswerable
from stepprof.analyses.rules import load_rules
from stepprof.analyses.speculation.result import Figure, Kind
from stepprof.analyses.steps import Steps, find_steps
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

NUMBER = re.compile(r"(\d+)\D*$")  # the last number of a label


@dataclass(frozen=True)
class Records:
    """Arrays of one entry a step; `class_` indexes `classes`, UNKNOWN (-1) where there is none."""

    source: str
    drafted: Ints  # drafts of one sequence
    kept: Ints  # summed over the batch
    batch: Ints
    class_: Ints
    period_ns: Ints | None  # None where the source holds no times
    classes: list[str]
    left_out: dict[str, int] = field(default_factory=dict[str, int])  # reason -> steps
    kept_kind: Kind = "measured"
    traced: TracedTimes | None = None  # None where the times are not those of a trace

    def __len__(self) -> int:
        return len(self.kept)

    def only(self, chosen: Any) -> Records:
        """The steps of a mask or an index."""
        period = None if self.period_ns is None else self.period_ns[chosen]
        columns = (self.drafted[chosen], self.kept[chosen], self.batch[chosen], self.class_[chosen])
        about = (self.classes, self.left_out, self.kept_kind, self.traced)
        return Records(self.source, *columns, period, *about)


def traced_records(store: Store, question: Question | Steps) -> Records:
    """The facts of a run with the periods of its steps, which are found here or at hand.

    Refused where it has no facts of steps, or none that fits.
    """
    source = store.fact("source") or store.path.name
    facts = store.rows("SELECT step, drafted, kept, batch, class FROM step_fact ORDER BY step")
    if not facts:
        raise Refused(
            f"{source}: holds no facts of steps: import it with --facts FILE.jsonl, or give --kept and --k yourself."
        )
    period = numbered_periods(question) if isinstance(question, Steps) else step_periods(store, question)
    left_out: Counter[str] = Counter()
    met = Counter(step for step, *_ in facts)
    rows: list[tuple[int, int, int, str | None, int]] = []
    for step, drafted, kept, batch, class_ in facts:
        reason = _unusable(met[step], drafted, kept, batch or 1) or (
            None if step in period else "no step of that number"
        )
        if reason is None and period[step] == UNKNOWN:
            reason = "no period: last, incomplete, warm-up, or the next step is not on record"
        if reason is None:
            rows.append((drafted // (batch or 1), kept, batch or 1, class_, period[step]))
        else:
            left_out[reason] += 1
    if not rows:
        raise Refused(f"{source}: none of its {len(facts)} facts fits a step ({said(left_out)}): see stepprof steps.")
    return records_of(source, rows, dict(left_out), _kept_kind(store), traced_times(store))


def _kept_kind(store: Store) -> Kind:
    """Whether the recorded command imposed how many drafts are kept."""
    command = store.value("SELECT value FROM manifest WHERE key = 'command'")
    return "simulated" if "--simulate-acceptance" in (command or "") else "measured"


@dataclass(frozen=True)
class TracedStep:
    """Mean period of the steps of a trace that holds no facts."""

    ms: Figure
    traced: TracedTimes


def traced_step(store: Store, question: Question) -> TracedStep:
    """Refused where no step of the trace has a period."""
    periods = [period for period in step_periods(store, question).values() if period != UNKNOWN]
    if not periods:
        source = store.fact("source") or store.path.name
        raise Refused(f"{source}: no two steps with following numbers: give --step-ms yourself.")
    return TracedStep(Figure(sum(periods) / len(periods) / 1e6, "measured"), traced_times(store))


def has_facts(store: Store) -> bool:
    """Whether the run holds facts of steps."""
    return bool(store.value("SELECT count(*) FROM step_fact"))


def records_of(
    source: str,
    rows: Sequence[tuple[int, int, int, str | None, int]],
    left_out: dict[str, int],
    kept_kind: Kind = "measured",
    traced: TracedTimes | None = None,
) -> Records:
    """Rows (drafted, kept, batch, class, period in ns or UNKNOWN) as arrays; times only where every row has one."""
    names = sorted({name for *_, name, _ in rows if name is not None})
    code = {name: i for i, name in enumerate(names)}
    drafted, kept, batch = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(3))
    class_ = np.array([UNKNOWN if row[3] is None else code[row[3]] for row in rows], dtype=np.int64)
    period = np.array([row[4] for row in rows], dtype=np.int64)
    timed = period if len(rows) and (period != UNKNOWN).all() else None
    return Records(source, drafted, kept, batch, class_, timed, names, left_out, kept_kind, traced)


def step_periods(store: Store, question: Question) -> dict[int, int]:
    """Number of each step -> its period, ns; UNKNOWN where it has none that can be used."""
    refuse_unanswerable(store)
    rules = load_rules(question.rules)
    ops = load_ops(store)
    ranges = load_ranges(store, rules)
    steps, tried = find_steps(store, ops, ranges, rules, question.marker, question.method)
    if steps is None:
        raise Refused(no_steps(store, tried))
    return numbered_periods(flag_lost_launches(store, ops, steps))


def numbered_periods(steps: Steps) -> dict[int, int]:
    """As `step_periods`; steps without a number, and numbers met twice, have no entry."""
    found = [NUMBER.search(label) for label in steps.label]
    numbers = [int(match[1]) if match else None for match in found]
    met, usable = Counter(numbers), set(steps.usable)
    following = [*numbers[1:], None]
    periods: dict[int, int] = {}
    for i, (number, after) in enumerate(zip(numbers, following, strict=True)):
        if number is not None and met[number] == 1:
            whole = i in usable and after == number + 1
            periods[number] = int(steps.windows.period[i]) if whole else UNKNOWN
    return periods


def _unusable(times_met: int, drafted: int | None, kept: int | None, batch: int) -> str | None:
    """Why a fact says nothing, None where it does."""
    if times_met > 1:
        return "several facts for one step"
    if drafted is None or kept is None:
        return "drafted or kept is not said"
    if drafted % batch or not 0 < kept <= drafted + batch:
        return "kept does not fit drafted (1 to drafted + 1 for each sequence)"
    return None


def said(left_out: dict[str, int] | Counter[str]) -> str:
    """Reasons with their counts, for a sentence."""
    return "; ".join(f"{count} × {reason}" for reason, count in left_out.items())
