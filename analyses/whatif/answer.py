"""What proposals would do to the step: edit the graph, replay it, compare with the replay of the unedited one.

    answer = evaluate(graph, proposals, Settings(Assumptions(node_cost(graph))))
    answer.proposals[0].alone.delta_ms        # ms a step, modelled, with its interval

Each measured step takes its own replay(edited) − replay(graph), so that what the fit gets wrong cancels; the change
is that of the p50 of the steps, which is also what a measurement of two arms compares (a mean would follow a few
slow steps). Intervals: whatif/interval.py; tokens/s: whatif/effects.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from stepprof.analyses.graph.replay import HeldOutError, held_out_error, replay, wall_of
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.inflation import TracingInflation, inflation_warning
from stepprof.analyses.ops import Ints
from stepprof.analyses.speculation.forecasts import kept_with
from stepprof.analyses.speculation.result import Figure, Lane
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.edits import Done, apply
from stepprof.analyses.whatif.effects import Base, effect, table, targets, today_rate
from stepprof.analyses.whatif.held_spins import held_spins
from stepprof.analyses.whatif.interval import Reals, doubt_of, interval, joined
from stepprof.analyses.whatif.op_selection import matching, nothing_matches
from stepprof.analyses.whatif.proposal_model import Draft, Edit, Given, Proposal, Select
from stepprof.analyses.whatif.result import Answer, Doubt, WhatIf
from stepprof.profiler.errors import InputError, UsageError

POOR_REPLAY = 0.05  # held-out error of the replay above which a warning is due


@dataclass(frozen=True)
class Settings:
    """What an evaluation knows beside the graph."""

    assume: Assumptions
    kept: Figure | None = None  # tokens a step
    period_ms: float | None = None  # start to start, measured
    lane: Lane | None = None  # acceptance of drafts, for other k
    inflation: TracingInflation | None = None
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
    extra_ns: float = 0.0  # on top of the replay
    k: int | None = None  # drafts of a step, where the proposal changes them

    def wall(self) -> Reals:
        """Replayed length of each step, [steps] ns."""
        return wall_of(replay(self.graph)) + self.extra_ns


def evaluate(graph: StepGraph, proposals: Sequence[Proposal], settings: Settings) -> WhatIf:
    """Every proposal alone and in sequence.

    InputError where a selection matches nothing and is not optional, or a figure that an edit needs is missing.
    """
    one = _Evaluation(graph, settings)
    return one.whole([one.answer(proposal) for proposal in proposals])


def edited(graph: StepGraph, proposal: Proposal, assume: Assumptions, must_match: bool = True) -> Edited:
    """All edits of a proposal, one behind the other."""
    ops, work, extra, k, notes = 0, 0.0, 0.0, None, list[str]()
    for n, edit in enumerate(proposal.edits):
        fault = _Fault(proposal, n)
        if must_match and not proposal.optional:
            _must_match(graph, edit, fault)
        done = _applied(graph, edit, assume, fault)
        if not done.touched.any() and not isinstance(edit, Draft):
            if must_match and not proposal.optional:
                raise fault.saying("the ops that match are not changed by this edit.")
            notes.append("matches nothing")
        ops += int(np.sum(done.touched))
        work += float(graph.duration[done.touched].sum(axis=0).mean())
        held = held_spins(graph, done.touched)
        notes += [note for note in (*_sources(edit), *done.notes, held) if note and note not in notes]
        extra, k = extra + done.extra_ns, done.k if done.k is not None else k
        graph = done.graph
    return Edited(graph, ops, work, tuple(notes), extra, k)


def _sources(edit: Edit) -> list[str]:
    """Where figures of an edit are from, other than the file of proposals."""
    values = [getattr(edit, field.name) for field in fields(edit)]
    return [value.basis for value in values if isinstance(value, Given) and value.basis]


@dataclass(frozen=True)
class _Fault:
    """The fault of the n-th edit of a proposal."""

    proposal: Proposal
    n: int

    def saying(self, what: str) -> InputError:
        where = self.proposal.where[self.n] + ", " if self.proposal.where else ""
        return InputError(f'{where}"{self.proposal.name}": {what}')


def _applied(graph: StepGraph, edit: Edit, assume: Assumptions, at: _Fault) -> Done:
    try:
        return apply(graph, edit, assume)
    except UsageError as fault:
        raise at.saying(str(fault)) from None


def _must_match(graph: StepGraph, edit: Edit, fault: _Fault) -> None:
    """InputError where one of the edit's selections matches no op."""
    for select in (getattr(edit, field.name) for field in fields(edit)):
        if isinstance(select, Select) and not matching(graph.nodes, select).any():
            raise fault.saying(f"{nothing_matches(graph.nodes, select)}.")


def work_ns(graph: StepGraph) -> Ints:
    """Sum of the durations of all ops, spin-waits left out, [steps] ns."""
    return graph.duration[~graph.nodes.host & ~graph.nodes.wait].sum(axis=0)


class _Evaluation:
    """One graph against its proposals; keeps the graph that the sequence has come to."""

    def __init__(self, graph: StepGraph, settings: Settings) -> None:
        self.graph, self.settings = graph, settings
        self.wall = wall_of(replay(graph))
        self.error = held_out_error(graph)
        period = settings.period_ms
        self.base = Base(float(np.median(graph.wall)) / 1e6, period, settings.kept)
        self.so_far, self.so_far_wall, self.extra_ns = graph, self.wall.astype(np.float64), 0.0
        self.doubts: list[Doubt] = []  # of the sequence
        self.kept: Figure | None = None  # where the sequence has changed it

    def answer(self, proposal: Proposal) -> Answer:
        """The proposal alone, then behind those before it."""
        settings, gate = self.settings, proposal.gate
        alone = edited(self.graph, proposal, settings.assume)
        change = alone.wall() - self.wall  # [steps]
        doubt = doubt_of(self.graph, proposal, settings.assume, change, self.error, self.base.step_ms)
        delta, kept = interval(self._of_p50(change), doubt), self._kept(alone.k)
        assert delta.value is not None and delta.low is not None and delta.high is not None
        removed = float((work_ns(self.graph) - work_ns(alone.graph)).mean()) / 1e6
        more, whole = self._behind(proposal, alone, doubt)
        return Answer(
            name=proposal.name,
            edits=tuple(type(edit).__name__.lower() for edit in proposal.edits),
            ops=alone.ops,
            work_ms=Figure(alone.work_ns / 1e6, "measured"),
            removed_work_ms=Figure(removed, "modelled"),
            hidden_ms=Figure(max(0.0, removed + min(delta.value, 0.0)), "modelled"),
            alone=effect(self.base, delta, kept=kept),
            in_sequence=effect(self.base, more, whole, self.kept),
            doubt=doubt,
            human_estimate_ms=None if proposal.predicted_ms is None else Figure(proposal.predicted_ms, "quoted"),
            gate=None if gate is None else str(gate),
            verdict=None if gate is None else gate.verdict(delta.low, delta.high),
            null_no_change_ms=0.0,
            null_sum_of_work_ms=-removed,
            kept=kept,
            notes=alone.notes,
        )

    def _behind(self, proposal: Proposal, alone: Edited, doubt: Doubt) -> tuple[Figure, Figure]:
        """Change by this proposal on top of those before it, and of all so far."""
        before, was = self.so_far, self.so_far_wall
        if before is not self.graph:
            alone = edited(before, proposal, self.settings.assume, must_match=False)
        self.so_far, self.extra_ns = alone.graph, self.extra_ns + alone.extra_ns
        self.so_far_wall = wall_of(replay(self.so_far)) + self.extra_ns
        self.kept = self._kept(alone.k) or self.kept
        more, whole = self.so_far_wall - was, self.so_far_wall - self.wall
        if before is not self.graph:
            doubt = doubt_of(before, proposal, self.settings.assume, more, self.error, self.base.step_ms)
        self.doubts.append(doubt)
        together = joined(self.doubts, whole)
        after = self._of_p50(whole)
        return interval(after - self._of_p50(was - self.wall), doubt), interval(after, together)

    def _of_p50(self, change: Reals) -> float:
        """Change of the p50 of the measured steps, each with its own change [steps] ns; ms."""
        return float(np.median(self.graph.wall + change) - np.median(self.graph.wall)) / 1e6

    def _kept(self, k: int | None) -> Figure | None:
        """Kept tokens with another k, where acceptance is known."""
        lane = self.settings.lane
        return None if k is None or lane is None else kept_with(lane, k)

    def whole(self, answers: Sequence[Answer]) -> WhatIf:
        """The answers with what they stand on."""
        graph, settings, base = self.graph, self.settings, self.base
        return WhatIf(
            source=graph.source,
            gpu=graph.gpu,
            steps=graph.duration.shape[1],
            left_out=graph.left_out,
            step_ms=Figure(base.step_ms, "measured"),
            period_ms=None if base.period_ms is None else Figure(base.period_ms, "measured"),
            kept=base.kept,
            tokens_per_s=today_rate(base),
            replay_error=self.error,
            node_cost=settings.assume.node_cost,
            proposals=tuple(answers),
            table=table(base, settings.table_ms or self._lines(answers)),
            targets=targets(base, settings.rates),
            inflation=settings.inflation,
            warnings=(*settings.warnings, *graph.warnings, *_warnings(settings, self.error)),
        )

    def _lines(self, answers: Sequence[Answer]) -> list[float]:
        """Today's period and the one after each proposal of the sequence, ms."""
        steps = [answer.in_sequence.step_ms.value or 0.0 for answer in answers]
        today = self.base.rate_ms
        return list(dict.fromkeys([today, *(step - self.base.step_ms + today for step in steps)]))


def _warnings(settings: Settings, error: HeldOutError) -> list[dict[str, Any]]:
    inflated = inflation_warning(settings.inflation)
    made = [] if inflated is None else [inflated]
    if error.wall_median > POOR_REPLAY:
        text = f"the replay is off by {error.wall_median:.0%} on steps that it was not fitted on: predictions are weak."
        made.append({"code": "poor_replay", "count": error.steps, "text": text})
    return made
