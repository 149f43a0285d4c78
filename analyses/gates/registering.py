"""Putting a gate into the ledger: once, before its data.

entry = register(ledger, read_registration(path))
"""

from __future__ import annotations

from stepprof.analyses.gates.ledger import Entry, Ledger
from stepprof.analyses.gates.registration import Registration, as_body, fingerprint, registration_of
from stepprof.analyses.gates.running import folder_of
from stepprof.profiler.errors import Refused, UsageError


def register(ledger: Ledger, gate: Registration) -> Entry:
    """The new last entry; UsageError where the name is taken: a changed bar is a new gate."""
    if ledger.of_gate(gate.name, "registered"):
        raise UsageError(f"{gate.name} is registered already: a changed gate takes a new name.")
    if folder_of(ledger, gate.name).exists():
        raise Refused(f"{folder_of(ledger, gate.name)} is there before the gate: data from before it decide nothing.")
    gate = registration_of(as_body(gate))  # in the form in which it will be read back
    return ledger.append("registered", {"name": gate.name, "sha256": fingerprint(gate), "registration": as_body(gate)})
