"""Answers as JSON documents and CSV files (DESIGN, CLI contract).

Names from traces are data: JSON escapes them, and a CSV cell that a spreadsheet
would run as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.breakdown_result import Breakdown
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.steps import Steps
from stepprof.profiler.query import Answer
from stepprof.profiler.report.whole_file import whole_file


def as_json(document: Any) -> str:
    """One JSON document; NaN cannot occur in it."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)


def inflation_fields(inflation: TracingInflation | None) -> dict[str, Any]:
    """What tracing did to the steps, as every document says it; nulls where no control is on record."""
    return {
        "tracing_inflation": inflation and inflation.ratio,
        "tracing_inflation_interval": inflation and inflation.interval and list(inflation.interval),
        "inflation_span": inflation and inflation.span,
        "inflation_prologue": inflation and inflation.prologue,
    }


def steps_document(
    steps: Steps, warnings: list[dict[str, Any]], inflation: TracingInflation | None = None
) -> dict[str, Any]:
    """`stepprof steps --json`."""
    return {
        "method": steps.method,
        "confidence": steps.confidence,
        "steps": [_step(steps, i) for i in range(len(steps))],
        **inflation_fields(inflation),
        "warnings": warnings,
    }


def _step(steps: Steps, i: int) -> dict[str, Any]:
    w = steps.windows
    spanned = w.ops[i] > 0
    return {
        "index": i,
        "label": steps.label[i],
        "phase": steps.phase[i],
        "window": "host" if w.host[i] else "gpu",
        "start_ns": int(w.start[i]),
        "end_ns": int(w.end[i]),
        "wall_ns": int(w.end[i] - w.start[i]),
        "gpu_span_ns": int(w.gpu_end[i] - w.gpu_start[i]) if spanned else None,
        "period_ns": int(w.period[i]) if i + 1 < len(steps) else None,
        "between_ns": int(w.between[i]) if i + 1 < len(steps) else None,
        "host_start_ns": _known(w.host_start[i]),
        "host_end_ns": _known(w.host_end[i]),
        "ops": int(w.ops[i]),
        "flags": steps.flags[i],
    }


def _known(value: Any) -> int | None:
    return None if int(value) == UNKNOWN else int(value)


def breakdown_document(result: Breakdown) -> dict[str, Any]:
    """`stepprof breakdown --json`."""
    document = dataclasses.asdict(result)
    del document["inflation"]
    warnings = document.pop("warnings")
    document |= inflation_fields(result.inflation) | {"warnings": warnings}
    document["gaps"] = [{"class": gap.pop("class_"), **gap} for gap in document["gaps"]]
    return document


def breakdown_csv(result: Breakdown) -> str:
    """Rows and gaps as CSV: kind of line, key, and figures per step."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(["row", result.by, "exposed_ns", "exposed_total_ns", "busy_ns", "work_ns", "hidden_ns", "ops", "share"])
    for r in result.rows:
        write(["op", cell(r.key), r.exposed_ns, r.exposed_total_ns, r.busy_ns, r.work_ns, r.hidden_ns, r.ops, r.share])
    for g in result.gaps:
        write(["gap", g.class_, g.exposed_ns, g.exposed_total_ns, "", "", "", g.count, g.share])
    return out.getvalue()


def cell(text: str) -> str:
    """The text, never a formula."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def plain_document(answer: Any) -> dict[str, Any]:
    """A dataclass as it is; a field `class_` is the key `class`, `inflation` is the keys of inflation_fields."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key.removesuffix("_"): value for key, value in items}

    made: dict[str, Any] = {}
    for key, value in dataclasses.asdict(answer, dict_factory=pairs).items():
        made |= inflation_fields(answer.inflation) if key == "inflation" else {key: value}
    return made


def roles_document(found: Attribution, rows: list[Any]) -> dict[str, Any]:
    """`stepprof roles --json`."""
    names = [dataclasses.asdict(row) for row in rows]
    return {"names": names, **inflation_fields(found.inflation), "warnings": found.warnings}


def answer_document(answer: Answer) -> dict[str, Any]:
    """`stepprof query --json`."""
    return dataclasses.asdict(answer)


def answer_csv(answer: Answer) -> str:
    """Rows of a query as CSV; no cell is a formula."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write([cell(name) for name in answer.columns])
    for row in answer.rows:
        write([cell(value) if isinstance(value, str) else value for value in row])
    return out.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all; InputError where it cannot be."""
    with whole_file(path) as file:
        file.write(text.encode())
