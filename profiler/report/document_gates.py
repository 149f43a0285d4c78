"""`stepprof gate … --json`: verdicts and the ladder as documents."""

from __future__ import annotations

import dataclasses
from typing import Any

from stepprof.analyses.gates.evidence import Evidence
from stepprof.analyses.gates.judge import Judged
from stepprof.analyses.gates.ladder import Rung
from stepprof.analyses.gates.ledger import utc
from stepprof.analyses.gates.registration import as_body
from stepprof.analyses.gates.verdict import Answer
from stepprof.profiler.report.document import inflation_fields
from stepprof.profiler.report.document_compare import settings_document, shift_document


def verdict_document(answer: Answer) -> dict[str, Any]:
    """Everything a verdict rests on."""
    return {
        "gate": answer.gate.name,
        "verdict": answer.verdict,
        "met": answer.met,
        "reason": answer.reason,
        "metric": answer.gate.metric,
        "unit": answer.unit,
        "kind": answer.figure_kind,
        "bar": answer.gate.bar,
        "bar_unit": answer.gate.bar_unit,
        "rule": answer.gate.rule,
        "look": answer.look,
        "rounds": [_judged(one) for one in answer.rounds],
        "combined": None if answer.together is None else _judged(answer.together),
        "cells": [dataclasses.asdict(cell) for cell in answer.cells],
        "conditions": [dataclasses.asdict(one) for one in answer.conditions],
        "settings": [settings_document(one) for one in answer.settings],
        "launches": [_launch(one) for one in answer.evidence],
        "crashed": answer.crashed,
        "cut": answer.cut,
        "registered": answer.registered,
        "sha256": answer.fingerprint,
        "head": answer.head,
        "registration": as_body(answer.gate),
        "warnings": answer.warnings,
    }


def ladder_document(rungs: list[Rung], head: str) -> dict[str, Any]:
    """`stepprof gate list --json`."""
    return {"gates": [dataclasses.asdict(rung) for rung in rungs], "head": head}


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "control": one.control,
        "candidate": one.candidate,
        "delta": shift_document(one.delta),
        "noise_floor": one.noise_floor,
        "hodges_lehmann": one.shift,
        "permutation_p": None if one.permutation is None else dataclasses.asdict(one.permutation),
        "verdict": one.verdict,
    }


def _launch(one: Evidence) -> dict[str, Any]:
    made = one.made
    return {
        "slot": made.slot.number,
        "round": made.slot.round,
        "arm": made.slot.arm,
        "value": None if one.reading is None else one.reading.value,
        "why": one.why,
        "folder": made.folder,
        "started": utc(made.started),
        "seconds": made.ended - made.started,
        "instrument": made.instrument,
        "left_out": one.left_out,
        **inflation_fields(one.inflation),
        "series": None if one.series is None else dataclasses.asdict(one.series),
    }
