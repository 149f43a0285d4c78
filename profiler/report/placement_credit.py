"""What `stepprof placement` says of the waits that it credits calls: whose they are, and what to be careful with."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.console import Console

from stepprof.analyses.placement.expert_use import ExpertUse
from stepprof.profiler.report.terminal import paragraph, show_warnings


def credit_document(uses: ExpertUse) -> dict[str, Any]:
    """Its keys of the JSON document: calls by what their wait rests on, and warnings."""
    return {"waits_credited": dataclasses.asdict(uses.credited), "warnings": uses.warnings}


def show_credit(out: Console, uses: ExpertUse) -> None:
    """A line where calls are told apart, and the warnings."""
    credited = uses.credited
    if credited.own or credited.by_experts:
        calls = (
            f"{credited.own:,} calls' own, {credited.by_experts:,} by number of experts, {credited.by_layer:,} by layer"
        )
        paragraph(out, f"waits           {calls}", indent=16)
    show_warnings(out, uses.warnings)
