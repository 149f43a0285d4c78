"""How sure a predicted change is: node cost, bandwidth, given figures, step-to-step spread, the replay's own error.

    doubt = doubt_of(graph, proposal, assume, change, error, today_ms)
    interval(delta_ms, doubt)        # Figure with low and high

Each source of doubt alone is set to its bounds and replayed on some steps; the deviations and the t interval of
the mean over steps add up in quadrature. No interval is narrower than the held-out error of the replay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from stepprof.analyses.graph.replay import HeldOutError, replay, steps_of, wall_of
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import Ints
from stepprof.analyses.speculation.result import Figure
from stepprof.analyses.statistics import t_quantile
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.edits import apply
from stepprof.analyses.whatif.proposal_model import Draft, Edit, Fuse, Given, Proposal, Scale, Split
from stepprof.analyses.whatif.result import Doubt

Reals = np.ndarray[tuple[int], np.dtype[np.floating[Any]]]

SAMPLE = 16  # steps on which bounds are replayed, spread over the run
TWO_SIDED = 0.975
SOURCES = ("node_cost", "bandwidth", "given")


def doubt_of(
    graph: StepGraph,
    proposal: Proposal,
    assume: Assumptions,
    change: Ints | Reals,
    error: HeldOutError,
    today_ms: float,
) -> Doubt:
    """What the interval of a change [steps] ns is made of."""
    found = {source: (0.0, 0.0) for source in SOURCES}
    used = [source for source in SOURCES if any(_uses(edit, source, assume) for edit in proposal.edits)]
    if used:
        some = _sample(graph)
        plain = _mean_wall(some, proposal, assume)
        for source in used:
            ends = [_mean_wall(some, proposal, replace(assume, **{f"{source}_at": at})) for at in ("low", "high")]
            found[source] = ((plain - min(plain, *ends)) / 1e6, (max(plain, *ends) - plain) / 1e6)
    return Doubt(**found, steps=_spread(change), replay=error.wall_median * today_ms)


def _uses(edit: Edit, source: str, assume: Assumptions) -> bool:
    """Whether an edit depends on a source of doubt."""
    if source == "node_cost":
        return isinstance(edit, Fuse | Split)
    if source == "bandwidth":
        return (isinstance(edit, Scale) and edit.floor) or (isinstance(edit, Fuse) and bool(assume.costs))
    values = [getattr(edit, field.name) for field in fields(edit)]
    if isinstance(edit, Draft) and edit.row_ms is None:
        values.append(assume.row_ms)
    return any(isinstance(value, Given) and value.low < value.high for value in values)


def _sample(graph: StepGraph) -> StepGraph:
    """At most SAMPLE of the graph's steps, evenly spaced."""
    count = graph.duration.shape[1]
    chosen = np.zeros(count, bool)
    chosen[np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).round().astype(np.int64))] = True
    return steps_of(graph, chosen)


def _mean_wall(graph: StepGraph, proposal: Proposal, assume: Assumptions) -> float:
    extra = 0.0
    for edit in proposal.edits:
        done = apply(graph, edit, assume)
        graph, extra = done.graph, extra + done.extra_ns
    return float(wall_of(replay(graph)).mean()) + extra


def _spread(change: Ints | Reals) -> float:
    """Half of the 95 % t interval of the mean over steps, ms."""
    count = len(change)
    if count < 2:
        return 0.0
    return _quantile(count - 1) * float(change.std(ddof=1)) / count**0.5 / 1e6


@cache
def _quantile(df: int) -> float:
    return t_quantile(TWO_SIDED, df)


def joined(doubts: Sequence[Doubt], change: Ints | Reals) -> Doubt:
    """Doubt of several proposals together, their change [steps] ns.

    One node cost and one bandwidth stand behind all of them, so these add up; given figures are apart.
    """

    def sides(key: str) -> tuple[float, float]:
        low, high = zip(*(getattr(doubt, key) for doubt in doubts), strict=True)
        return (math.hypot(*low), math.hypot(*high)) if key == "given" else (sum(low), sum(high))

    return Doubt(**{key: sides(key) for key in SOURCES}, steps=_spread(change), replay=doubts[-1].replay)


def interval(delta_ms: float, doubt: Doubt) -> Figure:
    """The change with its bounds."""
    sides = [
        max(
            doubt.replay,
            sum(x**2 for x in (doubt.node_cost[i], doubt.bandwidth[i], doubt.given[i], doubt.steps)) ** 0.5,
        )
        for i in (0, 1)
    ]
    return Figure(delta_ms, "modelled", delta_ms - sides[0], delta_ms + sides[1])
