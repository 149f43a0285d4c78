"""`stepprof breakdown --sidecar` as a JSON document and a CSV file (DESIGN, CLI contract)."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

from stepprof.analyses.sidecar.result import CallRow, Group, LayerWait, Sidecar
from stepprof.profiler.report.document import cell

GROUP = ("rows", "calls", "p50_us", "p95_us", "p99_us", "max_us", "mean_us")
DETAIL = ("phases_mean_us", "kinds_mean_us", "floor_us")
LAYER = ("layer", "rows", "main_ready_us", "sidecar_us", "join_wait_us")
FIT = ("estimator", "fixed_us", "per_row_us", "per_expert_us", "max_residual_us")


def sidecar_document(answer: Sidecar) -> dict[str, Any]:
    """The contract's keys; `classes` besides, where facts or --class name any."""
    document = {
        "calls": answer.calls,
        "empty_calls": answer.empty_calls,
        "skipped_share": answer.skipped_share,
        "per_rows": [_cut(group, (*GROUP, *DETAIL)) for group in answer.per_rows],
        "join_wait_us_per_step": answer.join_wait_us_per_step,
        "held_us_per_step": answer.held_us_per_step,
        "away_us_per_step": answer.away_us_per_step,
        "by_layer": [_cut(layer, LAYER) for layer in answer.by_layer],
        "fit": {name: getattr(answer.fits.medians, name) for name in FIT},
        "headroom_us": answer.headroom_us,
        "clock_offset_bound_ns": answer.clock_offset_bound_ns,
        "warnings": answer.warnings,
    }
    return document | ({"classes": [dataclasses.asdict(c) for c in answer.classes]} if answer.classes else {})


def _cut(row: Group | LayerWait, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def calls_csv(answer: Sidecar) -> str:
    """One line a call; times in ns, empty cells where the trace does not say."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    names = [field.name for field in dataclasses.fields(CallRow)]
    write([name.rstrip("_") for name in names])
    for row in answer.table:
        values = [getattr(row, name) for name in names]
        write(["" if v is None else cell(v) if isinstance(v, str) else int(v) for v in values])
    return out.getvalue()
