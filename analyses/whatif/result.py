"""The answer of stepprof whatif as plain data: what tests build, the CLI prints and scripts read.

Figures carry their kind; a bound is one of a 95 % interval or of a figure's own range. Changes are ms per
step, below 0 where the step gets shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from stepprof.analyses.graph.node_cost import NodeCost
from stepprof.analyses.graph.replay import HeldOutError
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.speculation.result import Figure, Rate

Verdict = Literal["met", "not met", "open"]


@dataclass(frozen=True)
class Effect:
    """What a proposal does to the step: alone, or on top of those before it."""

    delta_ms: Figure  # change of the step, with its interval
    step_ms: Figure  # today's measured p50 with the change
    tokens_per_s: Figure | None  # at the kept tokens


@dataclass(frozen=True)
class Doubt:
    """What the interval is made of, half-widths in ms (low side, high side)."""

    node_cost: tuple[float, float]
    bandwidth: tuple[float, float]
    given: tuple[float, float]
    steps: float  # t interval of the mean over steps
    replay: float  # held-out error of the replay: no interval is narrower


@dataclass(frozen=True)
class Answer:
    """One proposal, evaluated."""

    name: str
    edits: tuple[str, ...]  # kinds of its edits
    ops: int  # ops of a step that it touches
    work_ms: Figure  # their work today, measured
    removed_work_ms: Figure  # by how much the sum of all work gets smaller; also the null "sum of removed work"
    hidden_ms: Figure  # of that, what the step does not get shorter by: hidden today
    alone: Effect
    in_sequence: Effect
    doubt: Doubt
    human_estimate_ms: Figure | None  # quoted
    gate: str | None
    verdict: Verdict | None  # alone, against the gate
    null_no_change_ms: float  # what "nothing changes" predicts: 0
    null_sum_of_work_ms: float  # what summed kernel time predicts
    kept: Figure | None  # kept tokens where the proposal changes them
    notes: tuple[str, ...]


@dataclass(frozen=True)
class WhatIf:
    """Every proposal of a file against one graph."""

    source: str
    gpu: str
    steps: int
    left_out: int  # steps of another template
    step_ms: Figure  # today, p50 of the windows
    period_ms: Figure | None  # p50 start to start, what tokens/s uses
    kept: Figure | None
    tokens_per_s: Figure | None  # today
    replay_error: HeldOutError
    node_cost: NodeCost
    proposals: tuple[Answer, ...]
    table: tuple[Rate, ...]  # step time -> tokens/s at the kept tokens
    targets: tuple[Rate, ...]  # steps that wanted rates take
    inflation: TracingInflation | None  # printed as tracing_inflation and three keys beside it
    warnings: tuple[dict[str, Any], ...]
