"""What a gate must not break: throughput of every cell, equality of the output, commands that must pass.

cells = judge_cells(control, candidate, 2.0)        # percent of tokens/s that may be lost
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from stepprof.analyses.compare.metrics import Reading, figure_at
from stepprof.analyses.statistics import holm, one_sided_p, welch
from stepprof.profiler.errors import Refused

ALPHA = 0.05


@dataclass(frozen=True)
class Cell:
    """One class × concurrency; a loss is positive, in percent of control.

    `regressed`: a loss beyond what was allowed is shown (Holm over all cells); `open`: the estimate is beyond
    it but not shown; `ok` otherwise.
    """

    cell: str
    control: float
    candidate: float
    loss_percent: float
    allowed_percent: float
    p: float | None
    state: Literal["ok", "open", "regressed", "no data"]


@dataclass(frozen=True)
class Condition:
    """One side condition with its answer; None where nothing could be said."""

    name: str
    passed: bool | None
    text: str


def judge_cells(
    control: Sequence[Mapping[str, Reading]],
    candidate: Sequence[Mapping[str, Reading]],
    allowed: float | Mapping[str, float],
) -> list[Cell]:
    """All cells for which a loss is bounded; one without figures in every launch has no data."""
    launches = [*control, *candidate]
    names = list(allowed) if isinstance(allowed, Mapping) else list(dict.fromkeys(c for one in launches for c in one))
    found: list[Cell] = []
    for name in names:
        limit = allowed[name] if isinstance(allowed, Mapping) else allowed
        if all(name in one for one in launches):
            a, b = ([one[name].value for one in arm] for arm in (control, candidate))
            found.append(_cell(name, a, b, limit))
        else:
            found.append(Cell(name, 0.0, 0.0, 0.0, limit, None, "no data"))
    adjusted = holm({cell.cell: cell.p for cell in found if cell.p is not None}, ALPHA)
    return [
        cell if cell.p is None else _decided(cell, adjusted[cell.cell].p, adjusted[cell.cell].rejected)
        for cell in found
    ]


def cells_condition(cells: Sequence[Cell]) -> Condition:
    """The cells as one condition."""
    bad = [cell.cell for cell in cells if cell.state == "regressed"]
    lost = [cell.cell for cell in cells if cell.state == "no data"]
    unsure = [cell.cell for cell in cells if cell.state == "open"]
    if not cells or lost:
        return Condition("max_regression", None, f"no throughput on record for {', '.join(lost) or 'any cell'}")
    if bad:
        return Condition("max_regression", False, f"throughput fell in {', '.join(bad)} (Holm over {len(cells)} cells)")
    text = f"no loss shown in {len(cells)} cells"
    return Condition("max_regression", True, text + (f", open in {', '.join(unsure)}" if unsure else ""))


def identical_outputs(control: Sequence[str | None], candidate: Sequence[str | None]) -> Condition:
    """Every launch made the same tokens."""
    seen = set([*control, *candidate])
    if None in seen:
        return Condition("equality", None, "launches do not print their tokens (stepprof run --json does)")
    if len(set(control)) > 1:
        return Condition("equality", False, "the controls differ among themselves: register equality = 'flip-rate'")
    return Condition("equality", len(seen) == 1, "bit-identical" if len(seen) == 1 else "the candidate's tokens differ")


def flip_rate(document: dict[str, Any], name: str) -> Condition:
    """The candidate's flips are not above those of a control against a control, by `stepprof compare-outputs --json`."""
    try:
        share, control, p = (figure_at(document, f"test.{key}", name).value for key in ("share", "control", "p"))
    except Refused as fault:
        return Condition("equality", None, str(fault))
    text = f"{100 * share:.3f} % flips against {100 * control:.3f} % of the controls (one-sided p {p:.3f})"
    return Condition("equality", p >= ALPHA, text)


def _cell(name: str, control: list[float], candidate: list[float], limit: float) -> Cell:
    mean = float(np.mean(control))
    shift = welch([100 * value / mean for value in control], [100 * value / mean for value in candidate]).turned()
    return Cell(name, mean, float(np.mean(candidate)), shift.estimate, limit, one_sided_p(shift, limit), "ok")


def _decided(cell: Cell, p: float, rejected: bool) -> Cell:
    state: Literal["ok", "open", "regressed"] = (
        "regressed" if rejected else "open" if cell.loss_percent > cell.allowed_percent else "ok"
    )
    return Cell(cell.cell, cell.control, cell.candidate, cell.loss_percent, cell.allowed_percent, p, state)
