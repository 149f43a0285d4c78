"""Which launch comes when: the slots of a gate, in the registered order, and where one may look.

slots(registration)[3]        # Slot(number=3, round=0, arm="A") under ABBA
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from stepprof.analyses.gates.registration import Registration

ArmName = Literal["A", "B"]


@dataclass(frozen=True)
class Slot:
    """One launch that is to be made."""

    number: int
    round: int
    arm: ArmName


def slots(gate: Registration) -> list[Slot]:
    """All launches of all rounds."""
    size = 2 * gate.launches
    arms = (gate.order * (size // len(gate.order)))[:size]
    return [Slot(r * size + i, r, cast("ArmName", arm)) for r in range(gate.rounds) for i, arm in enumerate(arms)]


def stages(gate: Registration) -> list[int]:
    """Numbers of launches at which one looks: after each round, and half-way where two looks were registered."""
    size = 2 * gate.launches
    return [size // 2, size] if gate.looks == 2 else [size * (r + 1) for r in range(gate.rounds)]
