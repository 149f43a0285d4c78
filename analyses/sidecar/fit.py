"""What a sidecar call costs: fixed + per row + per expert, fitted two ways.

ordinary least squares on the median of each number of rows (of rows and experts where both differ), every
median alike; intervals by resampling the calls behind each median, fixed seed. Huber's M-estimator on the
calls themselves (k = 1.345 times the scaled median absolute deviation, iteratively reweighted); intervals by
its asymptotic variance (Huber and Ronchetti, Robust Statistics, 2nd ed., ch. 7).

    fit_calls(rows, experts, length).per_row_us
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepprof.analyses.ops import UNKNOWN, Ints

Floats = NDArray[np.floating[Any]]
Interval = tuple[float, float]
OLS = "ordinary least squares on per-rows medians"
HUBER = "Huber M-estimator (k 1.345) on calls"
ROUNDS, SEED, COVER = 200, 0, 95
K = 1.345
SHRINKS = "Calls do not grow with their rows and experts: what makes these differ is something else, so no share is called fixed."


@dataclass(frozen=True)
class Fit:
    """Costs in µs; None where the calls cannot tell. `intervals` are 95 %, by the name of the cost."""

    estimator: str
    fixed_us: float | None = None
    per_row_us: float | None = None
    per_expert_us: float | None = None
    max_residual_us: float | None = None
    intervals: dict[str, Interval] = field(default_factory=dict[str, Interval])


@dataclass(frozen=True)
class Fits:
    """Both fits, and what they cannot tell apart, in words."""

    medians: Fit
    robust: Fit
    said: str

    @property
    def fixed_us(self) -> float | None:
        """What of a call does not grow with it; None where rows or experts seem to make calls shorter."""
        fit = self.medians
        return None if _shrinks(fit) else fit.fixed_us


@dataclass(frozen=True)
class _Model:
    """Which numbers a cost is fitted to."""

    columns: list[str]  # fixed_us, then per_row_us, per_expert_us
    matrix: Floats  # [calls, columns]
    said: str = ""


def fit_calls(rows: Ints, experts: Ints, length_ns: Ints) -> Fits:
    """Fit calls with rows; `experts` may be UNKNOWN. Figures are None where fewer than two sizes occur.

    Where some calls say their rows, those that do not are left out.
    """
    made = (rows != 0) & (experts != 0)
    made &= (rows != UNKNOWN) | (rows[made] == UNKNOWN).all()
    model = _model(rows[made], experts[made])
    y = length_ns[made] / 1e3
    if len(model.columns) < 2:
        return Fits(Fit(OLS), Fit(HUBER), model.said)
    cells, cell = np.unique(model.matrix, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    middle = _medians(cell, y, len(cells))
    medians = _least_squares(model, cells, middle, _resampled(cell, y, len(cells)))
    said = " ".join(filter(None, [model.said, SHRINKS if _shrinks(medians) else ""]))
    return Fits(medians, _huber(model, y), said)


def _shrinks(fit: Fit) -> bool:
    """No cost is above zero, or one is below it beyond doubt."""
    costs = {"per_row_us": fit.per_row_us, "per_expert_us": fit.per_expert_us}
    known = {name: us for name, us in costs.items() if us is not None}
    sure = any(fit.intervals.get(name, (us, us))[1] < 0 for name, us in known.items())
    return bool(known) and (sure or max(known.values()) <= 0)


def _model(rows: Ints, experts: Ints) -> _Model:
    """Rows and experts as far as they are known, differ, and do so apart from each other."""
    size = {"per_row_us": rows, "per_expert_us": experts}
    known = {name: x for name, x in size.items() if len(x) and (x != UNKNOWN).all()}
    differ = [name for name, x in known.items() if len(np.unique(x)) > 1]
    words = {"per_row_us": "rows", "per_expert_us": "experts"}
    missing = [words[name] for name in size if name not in known]
    one = np.ones((len(rows), 1))
    if not differ:
        all_one = [f"{words[name]} (always {int(x[0])})" for name, x in known.items()]
        why = "neither rows nor experts are known" if not known else f"calls differ in no {' nor '.join(all_one)}"
        return _Model(["fixed_us"], one, f"{why}, so a fixed cost cannot be told from one per row.")
    if len(differ) == 2:
        both = np.column_stack([one, rows, experts]).astype(float)
        if np.linalg.matrix_rank(np.unique(both, axis=0)) == 3:
            return _Model(["fixed_us", *differ], both, "")
        return _Model(["fixed_us", "per_row_us"], both[:, :2], f"{_together(rows, experts)}.")
    said = (
        f"{' and '.join(missing)} of calls are not known, so a row's cost holds that of its experts."
        if missing == ["experts"]
        else ""
    )
    return _Model(["fixed_us", *differ], np.column_stack([one, known[differ[0]]]).astype(float), said)


def _together(rows: Ints, experts: Ints) -> str:
    ratio = np.unique(experts / rows)
    how = f"every row brings {ratio[0]:g} experts" if len(ratio) == 1 else "experts follow from rows by a straight line"
    return f"rows and experts cannot be told apart ({how}): a row's cost holds that of its experts"


def _least_squares(model: _Model, cells: Floats, middle: Floats, resampled: Floats) -> Fit:
    solve = np.linalg.pinv(cells)  # [columns, cells]
    cost = solve @ middle
    low, high = np.percentile(resampled @ solve.T, [50 - COVER / 2, 50 + COVER / 2], axis=0)
    return _fit(OLS, model, cost, float(np.abs(middle - cells @ cost).max()), low, high)


def _fit(estimator: str, model: _Model, cost: Floats, residual: float | None, low: Floats, high: Floats) -> Fit:
    costs: dict[str, Any] = dict(zip(model.columns, cost.tolist(), strict=True))
    pairs = zip(model.columns, low.tolist(), high.tolist(), strict=True)
    return Fit(estimator, **costs, max_residual_us=residual, intervals={name: (a, b) for name, a, b in pairs})


def _medians(cell: Ints, y: Floats, count: int) -> Floats:
    return np.array([np.median(y[cell == c]) for c in range(count)])


def _resampled(cell: Ints, y: Floats, count: int) -> Floats:
    """Medians of calls drawn anew from each cell: [rounds, cells]."""
    draw = np.random.default_rng(SEED)
    made = np.empty((ROUNDS, count))
    for c in range(count):
        own = y[cell == c]
        for k in range(ROUNDS):
            made[k, c] = np.median(own[draw.integers(0, len(own), len(own))])
    return made


def _huber(model: _Model, y: Floats) -> Fit:
    """Start at least squares, then weigh calls far from the line down."""
    x = model.matrix
    cost: Floats = np.linalg.lstsq(x, y, rcond=None)[0].astype(np.float64)
    scale = 0.0
    for _ in range(100):
        off = y - x @ cost
        scale = float(np.median(np.abs(off - np.median(off)))) / 0.6745
        if scale == 0:
            break
        weight = np.minimum(1, K * scale / np.maximum(np.abs(off), 1e-300))
        before, cost = cost, np.linalg.solve((x.T * weight) @ x, (x.T * weight) @ y)
        if np.abs(cost - before).max() < 1e-9:
            break
    off = y - x @ cost
    wide = 1.96 * _deviation(x, off, scale)
    return _fit(HUBER, model, cost, float(np.abs(off).max()), cost - wide, cost + wide)


def _deviation(x: Floats, off: Floats, scale: float) -> Floats:
    """Standard deviations of the costs: scale² · mean ψ² / (mean dψ)² · (XᵀX)⁻¹."""
    spare = len(x) - x.shape[1]
    if scale == 0 or spare <= 0:
        return np.zeros(x.shape[1])
    z = np.clip(off / scale, -K, K)
    inside = float((np.abs(off) <= K * scale).mean())
    factor = scale**2 * float((z**2).sum()) / spare / max(inside, 1 / len(x)) ** 2
    return np.sqrt(factor * np.diag(np.linalg.inv(x.T @ x)))
