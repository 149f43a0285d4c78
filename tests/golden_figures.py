"""The figures of the field notes (data/golden_figures.tsv), and each one computed by the code that a command uses.

FORMULAS maps the id of a row to a function without arguments. Rows whose command is not part of the arithmetic
(differences of launches, sums of savings) are plain arithmetic here, under PLAIN.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from stepprof.analyses.speculation import rates
from stepprof.analyses.speculation.acceptance import alpha_of_equal_rates, constant_kept, fitted_alpha
from stepprof.analyses.speculation.row_cost import row_cost
from stepprof.analyses.speculation.step_records import records_of
from tests.repository import ROOT

TSV = ROOT / "tests/data/golden_figures.tsv"
KEPT, STEP, K = 5.27, 11.07, 5
MEAN_STEP = 11.035  # the middle of the band 11.00 to 11.07 ms that the classes were measured at
ROW = 0.67 / 2  # k = 3 took 0.67 ms off the step
CLASSES = {"prose": 285.3, "structured": 307.3, "tool_json": 340.9, "code": 358.4, "shell_ops": 388.8}  # tokens/s
SIDECAR = {1: (82.9, 80.5), 2: (99.4, 100.4), 4: (133.4, 131.1), 8: (195.0, 193.7)}  # rows -> µs a call, two loops
ALPHA = fitted_alpha(KEPT, K)


@dataclass(frozen=True)
class Golden:
    """One row of the table."""

    id: str
    computed: float
    expected: float
    tolerance: float


def golden() -> list[Golden]:
    """All rows."""
    lines = [line for line in TSV.read_text().splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter="\t")
    return [Golden(r["id"], float(r["computed"]), float(r["expected"]), float(r["tolerance"])) for r in rows]


def row_ms() -> float:
    """Cost of a draft row, from twelve steps at k = 5 and at k = 3 with the posts' step times."""
    steps = [(k, 1, 1, None, round(ms * 1e6)) for k, ms in [(5, STEP), (3, STEP - 0.67)] * 12]
    cost = row_cost(records_of("posts", steps, {}))[0]
    assert cost is not None and cost.value is not None
    return cost.value


def shorter(rate: float, k: int, step_ms: float = MEAN_STEP) -> float:
    """Change of tokens/s, %, from k = 5 to a shorter draft, on a lane known by its tokens/s."""
    kept = rates.kept_for(rate, step_ms)
    after = rates.with_rows(step_ms, k - K, ROW)
    other = constant_kept(fitted_alpha(kept, K), k)
    return 100 * rates.change(rates.tokens_per_s(other, after), rates.tokens_per_s(kept, step_ms))


def sidecar_line() -> tuple[float, float, float]:
    """Fixed µs a call, µs a row and the largest residual, by least squares over the p50 of today's loop."""
    rows, p50 = np.array(list(SIDECAR), float), np.array([before for before, _ in SIDECAR.values()])
    design = np.stack([np.ones_like(rows), rows], axis=1)  # [calls, 2]
    found = np.linalg.lstsq(design, p50, rcond=None)[0]
    return float(found[0]), float(found[1]), float(np.abs(p50 - design @ found).max())


def equal_alpha() -> float:
    """The constant below which k = 2 beats k = 5."""
    found = alpha_of_equal_rates(K, 2, MEAN_STEP, ROW)
    assert found is not None
    return found


def at(kept: float, *steps_ms: float) -> float:
    """tokens/s at a step from which savings are taken."""
    return rates.tokens_per_s(kept, steps_ms[0] - sum(steps_ms[1:]))


def against(a: float, b: float) -> float:
    """Ratio of two sources, as `stepprof yardsticks` prints it."""
    return a / b


def _speculation() -> dict[str, Callable[[], float]]:
    made: dict[str, Callable[[], float]] = {
        f"tps_{ms}": partial(rates.tokens_per_s, KEPT, float(ms)) for ms in ("9.0", "8.0", "7.5", "11.0")
    }
    for name, rate in CLASSES.items():
        kept = rates.kept_for(rate, MEAN_STEP)
        made |= {
            f"kept_{name}": partial(rates.kept_for, rate, MEAN_STEP),
            f"alpha_{name}": partial(fitted_alpha, kept, K),
        }
    return made | {
        "step_from_476": lambda: rates.step_for(KEPT, 476),
        "need_703": lambda: rates.step_for(KEPT, 703),
        "proj_tps_hi": lambda: at(KEPT, 11.0, 1.2, 1.5),
        "proj_tps_lo": lambda: at(KEPT, 11.0, 1.2, 1.0),
        "tps_if_sidecar_fixed": lambda: at(KEPT, 11.0, 1.2),
        "k3_step": lambda: rates.with_rows(STEP, 3 - K, row_ms()),
        "k3_kept": lambda: rates.kept_for(355, 10.40),
        "k3_loss": lambda: rates.change(355, 476),
        "k3_breakeven_step": lambda: rates.break_even_step(STEP, KEPT, rates.kept_for(355, 10.40)),
        "k3_breakeven_kept": lambda: rates.break_even_kept(KEPT, STEP, 10.40),
        "sum_a_5": lambda: KEPT - 1,
        "rate_5": lambda: (KEPT - 1) / K,
        "sum_a45": lambda: KEPT - rates.kept_for(355, 10.40),
        "tps_gain": lambda: 100 * rates.change(11.175, 11.035),
        "alpha_iid": lambda: ALPHA,
        "k3_pred_kept": lambda: constant_kept(ALPHA, 3),
        "k3_pred_tps": lambda: rates.tokens_per_s(constant_kept(ALPHA, 3), 10.40),
        "k7_kept": lambda: constant_kept(ALPHA, 7),
        "k7_step_for_703": lambda: rates.step_for(constant_kept(ALPHA, 7), 703),
        "per_draft_row_us": lambda: 1000 * row_ms(),
        "k3_prose_pct": lambda: shorter(CLASSES["prose"], 3),
        "k2_alpha_breakeven": equal_alpha,
        "k2_community_hi": lambda: shorter(260, 2),
    }


YARDSTICKS: dict[str, Callable[[], float]] = {
    "ratio_703": lambda: against(476, 703),
    "ratio_comm_lo": lambda: against(239, 342),
    "ratio_comm_hi": lambda: against(260, 342),
    "ratio_c4": lambda: against(702, 634),
    "ratio_c32": lambda: against(2615, 1755),
    "ratio_prefill": lambda: against(50778, 17616),
    "spread_ours": lambda: against(CLASSES["shell_ops"], CLASSES["prose"]),
    "spread_theirs": lambda: against(700, 300),
    "prose_ratio": lambda: against(CLASSES["prose"], 300),
    "code_ratio": lambda: against(466, 700),
    "hosts": lambda: against(305, 153),
}

SIDECAR_FIT: dict[str, Callable[[], float]] = {
    "side_fixed": lambda: sidecar_line()[0],
    "side_slope": lambda: sidecar_line()[1],
    "side_fit_max_resid": lambda: sidecar_line()[2],
}

PLAIN: dict[str, Callable[[], float]] = {
    "proj_hi": lambda: 11.0 - 1.2 - 1.5,
    "proj_lo": lambda: 11.0 - 1.2 - 1.0,
    "fusion_sum": lambda: -0.36 - 0.15 - 0.55,
    "exposed_wait": lambda: 112 - 81,
    "exposed_step_38": lambda: (112 - 81) * 38 / 1000,
    "exposed_step_40": lambda: (112 - 81) * 40 / 1000,
    "layers_from_1.2": lambda: 1200 / (112 - 81),
    "h1_delta": lambda: 11.0655 - 11.1824,
    "h1_bar": lambda: 11.0655 - 11.1824 <= -0.100,
    "h1_pct": lambda: -100 * rates.change(11.0655, 11.1824),
    "pr1_delta": lambda: 11.000 - 11.142,
    "pr1_bar": lambda: 11.000 - 11.142 <= -0.100,
    "pr1_pct": lambda: -100 * rates.change(11.000, 11.142),
    "band_mid": lambda: (11.14 + 11.21) / 2 - (11.00 + 11.07) / 2,
    "side_headroom_lo": lambda: 80 - 20,
    "side_headroom_hi": lambda: 80 - 10,
    "calls_differ": lambda: 79_376 / 100_000,
    "tactic_min": lambda: 68 * 30 / 60,
    "tf_excess": lambda: 2.176 - 2.121,
    "tables_saved": lambda: 1 - 8 / 38,
    "us_per_removed_table": lambda: 1000 * (11.1824 - 11.0655) / (38 - 8),
    "kernel_mean": lambda: 11_000 / 1300,
    "gap_share_1us": lambda: 1300 / 11_000,
    "saved18": lambda: 11.0 * (1 - 0.18),
    "resident": lambda: 295 / 384,
    **{f"side_saved_{rows}": partial(float.__sub__, *pair) for rows, pair in SIDECAR.items()},
    **{f"side_bar_{rows}": partial(lambda pair: pair[0] - pair[1] >= 20, pair) for rows, pair in SIDECAR.items()},
}

FORMULAS: dict[str, Callable[[], float]] = {**_speculation(), **YARDSTICKS, **SIDECAR_FIT, **PLAIN}
