"""What the ledger says of one gate: its registration, the launches made, the looks taken.

state = gate_state(ledger, "topk")
state.done[0].folder, state.missing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stepprof.analyses.gates.ledger import Entry, Ledger
from stepprof.analyses.gates.registration import Registration, fingerprint, registration_of
from stepprof.analyses.gates.schedule import Slot, slots
from stepprof.profiler.errors import Refused, UsageError


@dataclass(frozen=True)
class Made:
    """One launch that was started: `status` is done, crashed or cut (ended from outside, no result)."""

    slot: Slot
    status: str
    code: int
    started: float
    ended: float
    folder: str
    files: dict[str, str]  # name -> SHA-256
    instrument: str
    entry: Entry


@dataclass(frozen=True)
class GateState:
    """A registered gate and its history."""

    registration: Registration
    registered: Entry
    made: list[Made]
    looks: list[Entry]
    plan: list[Slot] = field(default_factory=list[Slot])

    @property
    def done(self) -> dict[int, Made]:
        """The launches that count, by number of their slot."""
        return {made.slot.number: made for made in self.made if made.status == "done"}

    @property
    def missing(self) -> list[Slot]:
        """Slots still to be filled, in order."""
        return [slot for slot in self.plan if slot.number not in self.done]

    def crashes(self, slot: Slot) -> list[Made]:
        """Launches of a slot that failed by themselves."""
        return [made for made in self.made if made.slot == slot and made.status == "crashed"]


def gate_state(ledger: Ledger, name: str) -> GateState:
    """UsageError where there is no such gate, Refused where its entries contradict each other."""
    found = ledger.of_gate(name, "registered")
    if not found:
        known = ", ".join(str(e.body.get("name")) for e in ledger.entries if e.kind == "registered")
        raise UsageError(f"there is no gate {name!r} in {ledger.path}: it has {known or 'none'}.")
    registered = found[0]
    gate = registration_of(registered.body.get("registration"))
    if len(found) > 1 or gate.name != name or fingerprint(gate) != registered.body.get("sha256"):
        raise Refused(f"{ledger.path}: the registration of {name} was changed or repeated: its verdict is refused.")
    plan = slots(gate)
    made = [_made(entry, plan) for entry in ledger.of_gate(name, "launch")]
    _check(ledger, name, registered, made)
    return GateState(gate, registered, made, ledger.of_gate(name, "look", "verdict"), plan)


def _made(entry: Entry, plan: Sequence[Slot]) -> Made:
    body: dict[str, Any] = entry.body
    try:
        slot = plan[int(body["slot"])]
        found = Made(
            slot,
            str(body["status"]),
            int(body["code"]),
            float(body["started"]),
            float(body["ended"]),
            str(body["folder"]),
            dict(body["files"]),
            str(body["instrument"]),
            entry,
        )
    except (KeyError, IndexError, TypeError, ValueError):
        raise Refused(
            f"a launch of {body.get('name')} in the ledger is not one of its schedule: it was changed."
        ) from None
    if slot.arm != body.get("arm"):
        raise Refused(f"launch {slot.number} of {body.get('name')} is of arm {body.get('arm')}, not {slot.arm}.")
    return found


def _check(ledger: Ledger, name: str, registered: Entry, made: list[Made]) -> None:
    done = [one.slot.number for one in made if one.status == "done"]
    if len(done) != len(set(done)):
        raise Refused(f"{ledger.path}: a launch of {name} is noted twice: it would count twice.")
    if any(one.started < registered.time for one in made if one.status != "cut"):
        raise Refused(f"{ledger.path}: a launch of {name} is older than its registration: register, then measure.")
    if len({one.instrument for one in made if one.status == "done"}) > 1:
        raise Refused(f"{ledger.path}: launches of {name} were recorded in different ways: they cannot be compared.")
