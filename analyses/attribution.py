"""Everything the breakdown, the sidecar and what-if build on: one run, accounted for.

found = attribute(open_run(path))
found.exposed()        # ns of each op on the path of its step
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stepprof.analyses.dependencies import Dependencies, dependencies
from stepprof.analyses.gaps import Gaps, classify
from stepprof.analyses.inflation import TracingInflation, tracing_inflation
from stepprof.analyses.labels import Labels, op_labels
from stepprof.analyses.lost_launches import flag_lost_launches
from stepprof.analyses.markers import load_ranges, marker_names
from stepprof.analyses.ops import Bools, Ints, Ops, load_ops
from stepprof.analyses.range_names import offered
from stepprof.analyses.refusals import refuse_unanswerable
from stepprof.analyses.residents import resident_warnings
from stepprof.analyses.roles import OpRoles, op_roles
from stepprof.analyses.rules import load_rules
from stepprof.analyses.steps import Steps, find_steps
from stepprof.analyses.vocabulary import KINDS
from stepprof.analyses.walk import Walked, walk
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

Method = Literal["launches", "period"]


@dataclass(frozen=True)
class Question:
    """What the user chose about how a run is read."""

    marker: str | None = None
    method: Method | None = None
    rules: Path | None = None


@dataclass(frozen=True)
class Attribution:
    """A run whose every step is split into ops and gaps."""

    ops: Ops
    steps: Steps
    labels: Labels
    roles: OpRoles
    deps: Dependencies
    path: Walked
    work: Bools  # path segments that are work of their own step
    gaps: Gaps
    waits: Bools  # spin-wait ops
    source: str  # name of the trace, for sentences
    inflation: TracingInflation | None
    warnings: list[dict[str, Any]]

    @property
    def tracing_inflation(self) -> float | None:
        """Traced over untraced step time, where a control run is on record."""
        return None if self.inflation is None else self.inflation.ratio

    def exposed(self) -> Ints:
        """Exposed time of each op, ns; spin-waits and other steps' ops have none."""
        total = np.zeros(len(self.ops), dtype=np.int64)
        length = self.path.segment_end - self.path.segment_start
        np.add.at(total, self.path.segment_op[self.work], length[self.work])
        return total


def attribute(store: Store, question: Question | None = None, use_edges: bool = True) -> Attribution:
    """Account for every ns of every step; Refused where the trace cannot answer."""
    question = question or Question()
    refuse_unanswerable(store)
    rules = load_rules(question.rules)
    ops = load_ops(store, rules)
    ranges = load_ranges(store, rules)
    steps, tried = find_steps(store, ops, ranges, rules, question.marker, question.method)
    if steps is None:
        raise Refused(no_steps(store, tried, question.marker))
    steps = flag_lost_launches(store, ops, steps)
    labels = op_labels(store, ops, ranges, marker_names(ranges, rules, question.marker))
    order = np.arange(len(ops))
    roles = op_roles(ops.names, ops.name, ops.activity, ops.stream, order, labels.of_op, labels.paths, rules)
    deps = dependencies(store, ops, use_edges)
    path = walk(ops, deps, steps.windows, steps.of_op)
    waits = roles.kind == KINDS.index("wait")
    gaps, work = classify(store, ops, deps, path, steps, waits)
    warnings = store.warnings() + resident_warnings(store, ops.residents) + steps.warnings + _doubts(deps)
    inflation = tracing_inflation(store)
    return Attribution(ops, steps, labels, roles, deps, path, work, gaps, waits, _source(store), inflation, warnings)


def no_steps(store: Store, tried: list[str], marker: str | None = None) -> str:
    """The refusal of a trace in which no step is found."""
    return (
        f"{_source(store)}: no steps found ({'; '.join(tried)}): name the range around a step with --marker REGEX; "
        f"{offered(store, marker)}."
    )


def _source(store: Store) -> str:
    return store.fact("source") or store.path.name


def _doubts(deps: Dependencies) -> list[dict[str, Any]]:
    if not deps.contradicted:
        return []
    text = f"{deps.contradicted} recorded graph edges are contradicted by the times of their ops and were not followed."
    return [{"code": "edge_contradicted", "count": deps.contradicted, "text": text}]
