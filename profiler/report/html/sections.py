"""The figures of the report's further sections as plain data: each holds the document that --json prints.

    sections(beside)["sidecar"]["document"]     # as stepprof breakdown --sidecar --json; no key where not asked

Beside a document stand only sentences and the order and colours of what is drawn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from stepprof.analyses.bench.results import further_warnings, machine_of
from stepprof.analyses.bench.savings import unjudged
from stepprof.analyses.compare.comparison import Comparison
from stepprof.analyses.short_names import short_name
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.profiler.report.colours import kind_colours, phase_colours
from stepprof.profiler.report.document import plain_document
from stepprof.profiler.report.document_compare import comparison_document
from stepprof.profiler.report.document_scores import scores_document
from stepprof.profiler.report.document_sidecar import sidecar_document
from stepprof.profiler.report.html.beside import Bench, Beside

OPS = 200  # changed ops of a comparison that the page holds, and ops of one arm alone
NAME = 300  # characters of an op's name
Warnings = Sequence[dict[str, Any]]


def sections(beside: Beside) -> dict[str, Any]:
    """A key for each answer that is there; refusals and warnings always."""
    made: dict[str, Any] = {
        "sidecar": beside.sidecar and _sidecar(beside.sidecar),
        "speculation": beside.speculation and plain_document(beside.speculation),
        "bench": beside.bench and _bench(beside.bench),
        "whatif": beside.whatif and _whatif(beside),
        "comparison": beside.comparison and _comparison(beside.comparison),
    }
    kept = {name: part for name, part in made.items() if part is not None}
    refusals = [dataclasses.asdict(refusal) for refusal in beside.refusals]
    return kept | {"refusals": refusals, "warnings": _warnings(beside)}


def _sidecar(answer: Sidecar) -> dict[str, Any]:
    """The document; phases and kinds in their order, with colours."""
    phases = [phase.phase for phase in answer.phases]
    every = [answer.all, *answer.per_rows]
    kinds = list(dict.fromkeys(kind for group in every for kind in group.kinds_mean_us))
    return {
        "document": sidecar_document(answer),
        "phases": phases,
        "kinds": kinds,
        "colours": {"phases": phase_colours(phases), "kinds": kind_colours(kinds)},
    }


def _bench(bench: Bench) -> dict[str, Any]:
    results = [
        {"name": one.name, "rows": one.rows, "mode": one.mode, "p50_us": one.p50_us.value, "kind": one.p50_us.kind}
        for one in bench.file.results
    ]
    savings = [dataclasses.asdict(saving) for saving in bench.savings]
    about = {"bench": bench.file.bench, "machine": machine_of(bench.file), "complete": bench.file.complete}
    warnings = [one["text"] for one in further_warnings(bench.file) + unjudged(bench.file, bench.savings)]
    return about | {"warnings": warnings, "results": results, "savings": savings}


def _whatif(beside: Beside) -> dict[str, Any]:
    kept = beside.scores
    record = None if kept is None else scores_document(kept.path.name, kept.record, kept.waiting)
    return {"document": plain_document(beside.whatif), "scores": record}


def _comparison(found: Comparison) -> dict[str, Any]:
    """The document with its longest lists cut; `left_out` counts what the page does not hold."""
    document = comparison_document(found)
    ops = document["ops"]
    left_out: dict[str, int] = {}
    if ops is not None:
        changed = [row for row in ops["aligned"] if row["delta_ns"]]
        ops["aligned"] = changed
        for name in ("aligned", "appeared", "vanished"):
            left_out[name] = max(len(ops[name]) - OPS, 0)
            ops[name] = [_short(row) for row in ops[name][:OPS]]
    return {"document": document, "left_out": left_out}


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its texts cut, and the op as a person reads it: place and innermost range before the short name."""
    kept = {key: value[:NAME] if isinstance(value, str) else value for key, value in row.items()}
    if "key" not in row:
        return kept | {"short": short_name(row["name"])}
    head, _, name = row["key"].rpartition(" › ")
    place, _, rest = (head or row["key"]).partition(" ")
    return kept | {
        "short": f"{place} {rest.rpartition(' › ')[2]} {short_name(name)}" if head else f"{place} {short_name(rest)}"
    }


def _warnings(beside: Beside) -> list[dict[str, Any]]:
    """Warnings of all sections, each said once, with the sections that it is about."""
    said: dict[str, Warnings] = {
        "Sidecar": beside.sidecar.warnings if beside.sidecar else (),
        "tokens/s": beside.speculation.warnings if beside.speculation else (),
        "What-if": beside.whatif.warnings if beside.whatif else (),
        "Comparison": beside.comparison.warnings if beside.comparison else (),
    }
    found: dict[tuple[str, str], list[str]] = {}
    for section, warnings in said.items():
        for one in warnings:
            found.setdefault((one["code"], one["text"]), []).append(section)
    return [
        {"code": code, "text": text, "sections": list(dict.fromkeys(names))} for (code, text), names in found.items()
    ]
