"""`stepprof breakdown --sidecar` as a JSON document and a CSV file (DESIGN, CLI contract)."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

from stepprof.analyses.sidecar.result import CallRow, Sidecar
from stepprof.profiler.report.document import cell, inflation_fields


def sidecar_document(answer: Sidecar) -> dict[str, Any]:
    """The contract's keys and what the terminal says in words; `classes` besides, where facts or --class name any."""
    document = {
        "steps": answer.steps,
        "calls": answer.calls,
        "empty_calls": answer.empty_calls,
        "skipped_share": answer.skipped_share,
        "source": answer.source,
        "rows_from": answer.rows_from,
        "rows_said": answer.rows_said,
        "all": dataclasses.asdict(answer.all),
        "per_rows": [dataclasses.asdict(group) for group in answer.per_rows],
        **_waits(answer),
        "fit": dataclasses.asdict(answer.fits.medians),
        "fit_robust": dataclasses.asdict(answer.fits.robust),
        "fit_said": answer.fits.said,
        "headroom_us": answer.headroom_us,
        "headroom_said": answer.headroom_said,
        "floor_said": answer.floor_said,
        **inflation_fields(answer.inflation),
        "warnings": answer.warnings,
    }
    return document | ({"classes": [dataclasses.asdict(c) for c in answer.classes]} if answer.classes else {})


def _waits(answer: Sidecar) -> dict[str, Any]:
    """What the steps wait for, in all and by layer and step."""
    return {
        "join_wait_us_per_step": answer.join_wait_us_per_step,
        "held_us_per_step": answer.held_us_per_step,
        "away_us_per_step": answer.away_us_per_step,
        "by_layer": [dataclasses.asdict(layer) for layer in answer.by_layer],
        "by_step": [dataclasses.asdict(step) for step in answer.by_step],
        "waits_said": answer.waits_said,
        "clock_offset_bound_ns": answer.clock_offset_bound_ns,
        "clock_offset_ns": answer.clock_offset_ns,
        "clocks_apart_ns": answer.clocks_apart_ns,
        "clocks_said": answer.clocks_said,
        "join_wait_corrected_us_per_step": answer.corrected_wait_us,
        "below_bound": answer.below_bound,
    }


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
