"""What what-if takes from a run beside the graph: kept tokens, period, traffic, boundaries, cards.

graph = build_graph(found, store)
evaluate(graph, proposals, settings_of(store, found, graph, Figures(kept=5.27)))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.attribution import Attribution, Question
from stepprof.analyses.gaps import CODE
from stepprof.analyses.graph.node_cost import node_cost
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.speculation.draft_lanes import Given, lanes
from stepprof.analyses.speculation.result import Figure, Lane
from stepprof.analyses.speculation.row_cost import row_cost
from stepprof.analyses.speculation.step_records import Records, has_facts, traced_records
from stepprof.analyses.whatif.answer import Settings
from stepprof.analyses.whatif.assumptions import Assumptions, Traffic
from stepprof.analyses.whatif.proposal_model import Given as Bounded
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store


@dataclass(frozen=True)
class Figures:
    """What the user brings; these are `quoted`."""

    kept: float | None = None
    k: int | None = None
    nodes: Path | None = None  # a file of stepprof bench nodes
    table_ms: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()


def settings_of(
    store: Store, found: Attribution, graph: StepGraph, figures: Figures, question: Question | None = None
) -> Settings:
    """Settings of a run; InputError for a nodes file, UsageError where given figures do not fit."""
    records = _records(store, question or Question())
    lane = _lane(figures, records)
    row = None if records is None else row_cost(records)[0]
    assume = Assumptions(
        node_cost=node_cost(graph, figures.nodes),
        costs=_traffic(store),
        gpus={device: name or "" for device, name in store.rows("SELECT device, name FROM device")},
        boundary_ns=_boundary(found),
        row_ms=None if row is None else _bounded(row),
        k=lane.k if lane else figures.k,
    )
    kept = Figure(figures.kept, "quoted") if figures.kept is not None else (lane.kept if lane else None)
    return Settings(
        assume=assume,
        kept=kept,
        period_ms=_period_ms(found, graph, None if figures.kept is not None else lane),
        lane=lane,
        inflation=found.inflation,
        table_ms=figures.table_ms,
        rates=figures.rates,
    )


def _records(store: Store, question: Question) -> Records | None:
    """Facts of the run's steps; None where it has none that fit."""
    if not has_facts(store):
        return None
    try:
        return traced_records(store, question)
    except Refused:
        return None


def _lane(figures: Figures, records: Records | None) -> Lane | None:
    """Acceptance: of the facts, or a constant fitted to given kept tokens."""
    if records is None and (figures.kept is None or figures.k is None):
        return None
    return lanes(Given(kept=figures.kept, k=figures.k), records)[0]


def _bounded(row: Figure) -> Bounded:
    assert row.value is not None and row.low is not None and row.high is not None
    return Bounded(row.value, row.low, row.high, row.kind)


def _traffic(store: Store) -> dict[str, Traffic]:
    """Bytes by op name or range path."""
    rows = store.rows("SELECT label, bytes_read, bytes_written FROM op_cost")
    return {label: Traffic(r or 0, w or 0) for label, r, w in rows if r is not None or w is not None}


def _boundary(found: Attribution) -> int | None:
    """Median gap between two graph launches, ns; None where the path crosses no such boundary."""
    gaps = found.gaps
    mine = gaps.code == CODE["graph_boundary"]
    return round(float(np.median((gaps.end - gaps.start)[mine]))) if mine.any() else None


def _period_ms(found: Attribution, graph: StepGraph, lane: Lane | None) -> float | None:
    """Start to start: mean over the steps with facts, else p50 of those in the graph whose next step is on record."""
    if lane is not None and lane.step_ms is not None:
        return lane.step_ms.value
    period = found.steps.windows.period[np.array(graph.steps, dtype=np.int64)]
    known = period[period != UNKNOWN]
    return float(np.median(known)) / 1e6 if len(known) else None
