"""The answer of `stepprof breakdown` as plain data: what tests build, the CLI prints and reports draw.

The fields are those of the JSON document (DESIGN, CLI contract); times are ns a step,
unrounded means over the chosen steps, and `*_total_ns` integers over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.mismatches import Mismatch

By = Literal["role", "kind", "layer", "phase", "kernel", "label", "device"]
BYS: tuple[By, ...] = get_args(By)
NONE = "(none)"


@dataclass(frozen=True)
class KindShare:
    """What a row's ops do, ns a step."""

    kind: str
    exposed_ns: float
    work_ns: float
    fits: bool  # the kind is one expected in its role


@dataclass(frozen=True)
class Row:
    """One key; means per step, but `exposed_total_ns` over all selected steps."""

    key: str
    exposed_ns: float
    exposed_total_ns: int
    busy_ns: float
    work_ns: float
    hidden_ns: float
    ops: float
    share: float  # of wall
    kinds: list[KindShare]


@dataclass(frozen=True)
class GapRow:
    """One gap class; `class_` is printed as `class`."""

    class_: str
    exposed_ns: float
    exposed_total_ns: int
    count: float
    share: float  # of wall


@dataclass(frozen=True)
class Device:
    """A card's time, ns a step."""

    device: int
    busy_ns: float
    work_ns: float


@dataclass(frozen=True)
class Breakdown:
    """The answer of `stepprof breakdown` (DESIGN, CLI contract)."""

    by: By
    steps: int
    wall_ns: dict[str, float]
    rows: list[Row]
    gaps: list[GapRow]
    path: dict[str, float]
    overlap_ns: dict[str, float]  # path ops that had started before their dependency ended: pdl, other overlap
    second_card_ns: float
    totals: dict[str, int]
    devices: list[Device]
    unknown_share: float
    low_confidence_share: float
    labelled_share: float
    mismatches: list[Mismatch]
    inflation: TracingInflation | None  # printed as tracing_inflation and three keys beside it
    method: str
    confidence: float
    warnings: list[dict[str, Any]]

    @property
    def tracing_inflation(self) -> float | None:
        """Traced over untraced step time, where a control run is on record."""
        return None if self.inflation is None else self.inflation.ratio
