"""What proposals would do to the step: edit the graph, replay it, compare with the replay of the unedited one.

    answer = evaluate(graph, proposals, Settings(Assumptions(node_cost(graph))))
    answer.proposals[0].alone.delta_ms        # ms a step, modelled, with its interval

The change is the mean over steps of replay(edited) − replay(graph), so that what the fit gets wrong cancels;
it is applied to the measured p50 of the step. Intervals: whatif_interval.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stepprof.analyses import rates
from stepprof.analyses.assumptions import Assumptions
from stepprof.analyses.op_selection import nothing_matches
from stepprof.analyses.ops import Ints
from stepprof.analyses.proposal_model import Proposal
from stepprof.analyses.replay import HeldOutError, held_out_error, replay, wall_of
from stepprof.analyses.speculation_result import Figure, Rate
from stepprof.analyses.step_graph import StepGraph
from stepprof.analyses.whatif_edits import Done, apply
from stepprof.analyses.whatif_interval import doubt_of, interval
from stepprof.analyses.whatif_result import Answer, Effect, WhatIf
from stepprof.profiler.errors import InputError, UsageError

INFLATED = 1.05  # tracing made the step longer than this: a warning
POOR_REPLAY = 0.05  # held-out error of the replay above which a warning is due


@dataclass(frozen=True)
class Settings:
    """What an evaluation knows beside the graph."""

    assume: Assumptions
    kept: Figure | None = None  # tokens a step
    period_ms: float | None = None  # p50 start to start, measured
    tracing_inflation: float | None = None
    table_ms: tuple[float, ...] = ()  # lines of the table; default: today's step and the proposals' steps
    rates: tuple[float, ...] = ()  # tokens/s to reach
    warnings: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Edited:
    """A graph with all edits of a proposal, and what they touched."""

    graph: StepGraph
    ops: int
    work_ns: float  # mean over steps, of the touched ops as they were
    notes: tuple[str, ...]


def evaluate(graph: StepGraph, proposals: Sequence[Proposal], settings: Settings) -> WhatIf:
    """Every proposal alone and in sequence.

    InputError where a selection matches nothing and is not optional, UsageError where a figure is missing.
    """
    wall = wall_of(replay(graph))
    error = held_out_error(graph)
    answers: list[Answer] = []
    row, row_wall = graph, wall
    for proposal in proposals:
        alone = edited(graph, proposal, settings.assume, must_match=True)
        row = edited(row, proposal, settings.assume, must_match=False).graph
        after = wall_of(replay(row))
        step = float(np.mean(after - wall)) / 1e6
        answers.append(_answer(graph, wall, alone, proposal, settings, error, float(np.mean(after - row_wall)), step))
        row_wall = after
    return _whole(graph, answers, settings, error)


def edited(graph: StepGraph, proposal: Proposal, assume: Assumptions, must_match: bool) -> Edited:
    """All edits of a proposal, one behind the other."""
    ops, work, notes = 0, 0.0, list[str]()
    for edit in proposal.edits:
        done = _applied(graph, proposal, edit, assume)
        if not done.touched.any():
            if must_match and not proposal.optional:
                raise InputError(f"{proposal.where}{proposal.name!r}: {_why_nothing(graph, edit)}.")
            notes.append("matches nothing")
        ops += int(np.sum(done.touched))
        work += float(graph.duration[done.touched].sum(axis=0).mean())
        notes += done.notes
        graph = done.graph
    return Edited(graph, ops, work, tuple(notes))


def _applied(graph: StepGraph, proposal: Proposal, edit: Any, assume: Assumptions) -> Done:
    try:
        return apply(graph, edit, assume)
    except UsageError as fault:
        raise InputError(f"{proposal.where}{proposal.name!r}: {fault}") from None


def _why_nothing(graph: StepGraph, edit: Any) -> str:
    return nothing_matches(graph.nodes, edit.select)


def work_ns(graph: StepGraph) -> Ints:
    """Sum of the durations of all ops, spin-waits left out, [steps] ns."""
    return graph.duration[~graph.nodes.host & ~graph.nodes.wait].sum(axis=0)


def _answer(
    graph: StepGraph,
    wall: Ints,
    alone: Edited,
    proposal: Proposal,
    settings: Settings,
    error: HeldOutError,
    more_ns: float,
    step_ms: float,
) -> Answer:
    change = wall_of(replay(alone.graph)) - wall  # [steps]
    delta = float(change.mean()) / 1e6
    removed = float((work_ns(graph) - work_ns(alone.graph)).mean()) / 1e6
    doubt = doubt_of(graph, proposal, settings.assume, change, error, _today(graph))
    figure = interval(delta, doubt)
    assert figure.low is not None and figure.high is not None
    gate = proposal.gate
    return Answer(
        name=proposal.name,
        edits=tuple(type(edit).__name__.lower() for edit in proposal.edits),
        ops=alone.ops,
        work_ms=Figure(alone.work_ns / 1e6, "measured"),
        removed_work_ms=Figure(removed, "modelled"),
        hidden_ms=Figure(max(0.0, removed + min(delta, 0.0)), "modelled"),
        alone=_effect(graph, figure, settings),
        in_sequence=_effect(graph, interval(more_ns / 1e6, doubt), settings, interval(step_ms, doubt)),
        doubt=doubt,
        human_estimate_ms=None if proposal.predicted_ms is None else Figure(proposal.predicted_ms, "quoted"),
        gate=None if gate is None else str(gate),
        verdict=None if gate is None else gate.verdict(figure.low, figure.high),
        null_no_change_ms=0.0,
        null_sum_of_work_ms=-removed,
        kept=None,
        notes=alone.notes,
    )


def _today(graph: StepGraph) -> float:
    """Measured p50 of the windows, ms."""
    return float(np.median(graph.wall)) / 1e6


def _effect(graph: StepGraph, delta: Figure, settings: Settings, of_all: Figure | None = None) -> Effect:
    """The step and the rate with a change; `of_all` is the change of the whole sequence so far."""
    change = delta if of_all is None else of_all
    step = _shifted(change, _today(graph))
    return Effect(delta, step, _rate(change, settings, _today(graph)))


def _shifted(change: Figure, by: float) -> Figure:
    low, value, high = (None if x is None else x + by for x in (change.low, change.value, change.high))
    return Figure(value, "modelled", low, high)


def _rate(change: Figure, settings: Settings, today: float) -> Figure | None:
    """tokens/s with a change of the period; the longer step is the lower rate."""
    if settings.kept is None or settings.kept.value is None:
        return None
    step = _shifted(change, settings.period_ms or today)
    kept = settings.kept.value
    low, value, high = (
        None if x is None or x <= 0 else rates.tokens_per_s(kept, x) for x in (step.high, step.value, step.low)
    )
    return Figure(value, "modelled", low, high)


def _whole(graph: StepGraph, answers: Sequence[Answer], settings: Settings, error: HeldOutError) -> WhatIf:
    today, kept = _today(graph), settings.kept
    period = settings.period_ms
    value = None if kept is None else kept.value
    lines = settings.table_ms or (period or today, *((period or today) + _total(a, today) for a in answers))
    return WhatIf(
        source=graph.source,
        gpu=graph.gpu,
        steps=len(graph.steps),
        left_out=graph.left_out,
        step_ms=Figure(today, "measured"),
        period_ms=None if period is None else Figure(period, "measured"),
        kept=kept,
        tokens_per_s=_now(kept, period or today),
        replay_error=error,
        node_cost=settings.assume.node_cost,
        proposals=tuple(answers),
        table=() if value is None else tuple(Rate(ms, rates.tokens_per_s(value, ms)) for ms in lines if ms > 0),
        targets=() if value is None else tuple(Rate(rates.step_for(value, rate), rate) for rate in settings.rates),
        tracing_inflation=settings.tracing_inflation,
        warnings=(*settings.warnings, *graph.warnings, *_warnings(settings, error)),
    )


def _total(answer: Answer, today: float) -> float:
    """Change of the step after this proposal and all before it, ms."""
    assert answer.in_sequence.step_ms.value is not None
    return answer.in_sequence.step_ms.value - today


def _now(kept: Figure | None, period: float) -> Figure | None:
    """Today's tokens/s, of the kind that the kept tokens are."""
    if kept is None or kept.value is None:
        return None
    return replace(kept, value=rates.tokens_per_s(kept.value, period), low=None, high=None)


def _warnings(settings: Settings, error: HeldOutError) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    ratio = settings.tracing_inflation
    if ratio is not None and ratio > INFLATED:
        text = f"tracing made the step {ratio:.2f} times as long as untraced; changes are of the traced step."
        made.append({"code": "tracing_inflation", "count": 1, "text": text})
    if error.wall_median > POOR_REPLAY:
        text = f"the replay is off by {error.wall_median:.0%} on steps that it was not fitted on: predictions are weak."
        made.append({"code": "poor_replay", "count": error.steps, "text": text})
    return made
