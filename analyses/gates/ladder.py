"""All gates of a ledger in order: what each costs, what was predicted, where it stands.

ladder(ledger)[0].verdict
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepprof.analyses.gates.ledger import Ledger
from stepprof.analyses.gates.state import gate_state


@dataclass(frozen=True)
class Rung:
    """One gate; `verdict` is the last one noted, None before any."""

    name: str
    metric: str
    bar: float
    bar_unit: str
    rule: str
    cost: str
    owner: str
    predicted: float | None
    predicted_source: str | None
    registered: str
    launches: int
    of_launches: int
    verdict: str | None
    met: bool | None
    estimate: float | None


def ladder(ledger: Ledger) -> list[Rung]:
    """By order of registration; Refused where the ledger was tampered with."""
    names = [str(entry.body.get("name")) for entry in ledger.entries if entry.kind == "registered"]
    return [_rung(ledger, name) for name in dict.fromkeys(names)]


def _rung(ledger: Ledger, name: str) -> Rung:
    state = gate_state(ledger, name)
    gate = state.registration
    last: dict[str, Any] = state.looks[-1].body if state.looks else {}
    delta = last.get("delta") or {}
    return Rung(
        name=name,
        metric=gate.metric,
        bar=gate.bar,
        bar_unit=gate.bar_unit,
        rule=gate.rule,
        cost=gate.cost,
        owner=gate.owner,
        predicted=gate.predicted.value if gate.predicted else None,
        predicted_source=gate.predicted.source if gate.predicted else None,
        registered=state.registered.when,
        launches=len(state.done),
        of_launches=len(state.plan),
        verdict=last.get("verdict"),
        met=last.get("met"),
        estimate=delta.get("estimate"),
    )
