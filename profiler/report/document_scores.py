"""The track record and suggestions as JSON documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.scores import Score
from stepprof.analyses.whatif.suggest import Suggested, Suggestion
from stepprof.analyses.whatif.track_record import Judged, Record, sentence
from stepprof.profiler.report.document import inflation_fields


def scores_document(path: Path | str, record: Record, waiting: list[Score]) -> dict[str, Any]:
    """`stepprof whatif --scores --json`; errors are shares of the measured step."""
    return {
        "file": str(path),
        "scored": [_row(row) for row in record.rows],
        "pending": [msgspec.to_builtins(score) for score in waiting],
        "step_error_median": record.step_error,
        "record": sentence(record),
    }


def _row(row: Judged) -> dict[str, Any]:
    return msgspec.to_builtins(row.score) | {
        "step_error": row.step_error,
        "no_change_error": row.no_change_error,
        "sum_of_work_error": row.sum_of_work_error,
        "saving_error_ms": row.saving_error_ms,
        "above_floor": row.above_floor,
        "sign_right": row.sign_right,
        "saving_right": row.saving_right,
        "covered": row.covered,
        "covered_but_for_noise": row.covered_but_for_noise,
        "beats_both": row.beats_both,
    }


def suggestions_document(found: Suggested, toml: str) -> dict[str, Any]:
    """`stepprof whatif --suggest --json`; savings in ms a step, modelled."""
    warnings = [] if found.whatif is None else list(found.whatif.warnings)
    rows = [_suggestion(row) for row in found.rows]
    return {"suggestions": rows, "toml": toml, **inflation_fields(found.inflation), "warnings": warnings}


def _suggestion(row: Suggestion) -> dict[str, Any]:
    delta = row.answer.alone.delta_ms
    return {
        "name": row.proposal.name,
        "names": list(row.chain.names),
        "kinds": list(row.chain.kinds),
        "roles": [ROLES[role] if role >= 0 else None for role in row.chain.roles],
        "places": len(row.chain.at),
        "layers": row.chain.layers,
        "saved_ops": row.chain.saved_ops,
        "critical_share": row.chain.critical_share,
        "delta_ms": {"value": delta.value, "low": delta.low, "high": delta.high, "kind": delta.kind},
    }
