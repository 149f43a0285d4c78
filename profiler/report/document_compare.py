"""`stepprof compare --json`: a Comparison as one document; step times in ms, rows in ns a step."""

from __future__ import annotations

import dataclasses
from typing import Any

from stepprof.analyses.compare.comparison import Arm, Comparison, Sample
from stepprof.analyses.compare.row_deltas import RowDelta
from stepprof.analyses.compare.settings import Difference
from stepprof.analyses.statistics import Shift
from stepprof.profiler.report.document import inflation_fields


def comparison_document(found: Comparison) -> dict[str, Any]:
    """All of it; `ops` null where the launches were not traced."""
    return {
        "metric": "step_ms",
        "unit": "ms",
        "kind": found.figure_kind,
        "control": _arm(found.control),
        "candidate": _arm(found.candidate),
        "estimate": found.estimate,
        "relative": found.estimate / found.control.mean if found.control.mean else None,
        "delta": None if found.delta is None else shift_document(found.delta),
        "noise_floor": found.noise_floor,
        "hodges_lehmann": found.shift,
        "permutation_p": None if found.permutation is None else dataclasses.asdict(found.permutation),
        "outcome": found.outcome,
        "reason": found.reason,
        "wall": None if found.wall is None else _row(found.wall),
        "rows": {by: [_row(row) for row in rows] for by, rows in found.rows.items()},
        "ops": _ops(found),
        "cells": [_cell(row) for row in found.cells],
        "settings": [settings_document(one) for one in found.settings],
        "warnings": found.warnings,
    }


def shift_document(shift: Shift) -> dict[str, float]:
    """A shift with its interval."""
    return dataclasses.asdict(shift)


def settings_document(one: Difference) -> dict[str, Any]:
    """A setting that differs."""
    return {**dataclasses.asdict(one), "within": one.within}


def _arm(arm: Arm) -> dict[str, Any]:
    return {"mean": arm.mean, "sd": arm.spread, "launches": [_launch(sample) for sample in arm.samples]}


def _launch(sample: Sample) -> dict[str, Any]:
    series = dataclasses.asdict(sample.series)
    return {
        "name": sample.name,
        "source": sample.kind,
        "measure": sample.measure,
        **series,
        "drifts": sample.series.drifts,
        "left_out": sample.left_out,
        **inflation_fields(sample.inflation),
    }


def _row(row: RowDelta) -> dict[str, Any]:
    return {
        "key": row.key,
        "control_ns": row.control,
        "candidate_ns": row.candidate,
        "delta_ns": row.delta,
        "bound_ns": row.bound,
        "beyond": row.beyond,
    }


def _cell(row: RowDelta) -> dict[str, Any]:
    return {
        "cell": row.key,
        "control_tokens_per_s": row.control,
        "candidate_tokens_per_s": row.candidate,
        "delta": row.delta,
        "bound": row.bound,
    }


def _ops(found: Comparison) -> dict[str, Any] | None:
    if found.ops is None:
        return None
    return {
        "by": found.ops.by,
        "aligned": [_row(row) for row in found.ops.aligned],
        "appeared": [dataclasses.asdict(one) for one in found.ops.appeared],
        "vanished": [dataclasses.asdict(one) for one in found.ops.vanished],
        "steps_share": found.ops.steps_share,
        "unaligned_ops": found.ops.unaligned_ops,
    }
