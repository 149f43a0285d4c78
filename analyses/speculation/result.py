"""The answer of stepprof speculate as plain data: what tests build, the CLI prints and scripts read.

Every figure carries its kind: `measured` in the trace or the log, `quoted` as given by the user, `modelled` where
an assumption made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from stepprof.analyses.inflation import TracingInflation

Kind = Literal["measured", "modelled", "simulated", "quoted"]
Basis = Literal["by position", "constant"]


@dataclass(frozen=True)
class Figure:
    """A number, where it is from, and its bounds; `value` is None where only the bounds are known."""

    value: float | None
    kind: Kind
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Group:
    """Steps of one class with one k; None stands for all. Kept tokens and tokens/s are sums over the batch."""

    class_: str | None
    k: int
    steps: int
    kept: Figure  # a step
    acceptance: tuple[float, ...] | None  # P(first i drafts kept); None for a batch, whose facts are sums
    step_ms: Figure | None  # Σ time ÷ steps
    p50_step_ms: Figure | None
    tokens_per_s: Figure | None  # Σ kept ÷ Σ time


@dataclass(frozen=True)
class Needs:
    """What the new positions have to keep so that they pay."""

    acceptance_sum: float  # Σ P(first i drafts kept) over the new positions
    mean: float  # the same, a position
    chance: float | None  # of each new draft, those before it kept; None where even certainty is too little


@dataclass(frozen=True)
class Forecast:
    """Another k: kept tokens, the step at which it ties, and what it gives with the cost of a row."""

    k: int
    kept: Figure
    exact: bool  # a smaller k, a sequential draft, token-wise verification and measured positions
    beyond_block: bool
    break_even_step_ms: Figure | None
    step_ms: Figure | None
    tokens_per_s: Figure | None
    change: Figure | None  # of tokens/s
    threshold_step_ms: Figure | None  # at this step of today's k the two tie; a longer step favours more drafts
    needs: Needs | None


@dataclass(frozen=True)
class Lane:
    """One class (None: all) at today's k, and what another k would give."""

    class_: str | None
    k: int
    steps: int | None  # None where the figures are given
    kept: Figure  # of one sequence and step
    step_ms: Figure | None
    tokens_per_s: Figure | None  # of one sequence
    basis: Basis
    acceptance: tuple[float, ...]
    alpha: float | None  # the constant fitted to the kept tokens
    forecasts: tuple[Forecast, ...]


@dataclass(frozen=True)
class Rate:
    """A line of the table of step times, or the step that a wanted rate takes."""

    step_ms: float
    tokens_per_s: float
    kind: Kind = "modelled"


@dataclass(frozen=True)
class Speculation:
    """What drafting gives today, and would with another k or another step time."""

    source: str
    lanes: tuple[Lane, ...]  # all first, then by class
    groups: tuple[Group, ...]  # by class and k
    row_ms: Figure | None
    row_ms_reason: str | None  # why there is no cost of a row
    block: int | None
    table: tuple[Rate, ...]
    targets: tuple[Rate, ...]
    left_out: dict[str, int]
    traced: bool  # whether times of a trace are in it
    inflation: TracingInflation | None  # of that trace, printed as tracing_inflation and three keys beside it
    warnings: tuple[dict[str, Any], ...]
