"""Making the launches of a gate: in order, within a budget, kept whatever happens.

    progress = run_gate(ledger, "topk", launcher, budget_s=600)

A launch runs in a folder of its own that gets its final name only when the launch has ended; then it is
noted in the ledger with the hash of each of its files. After kill -9 a folder that had its final name is
noted, one that had not is kept and noted as cut, and its slot is filled anew: nothing counts twice,
nothing is lost. The lock is handed down to the launch, so that one that outlives us is waited for.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from stepprof.analyses.gates.ledger import Ledger
from stepprof.analyses.gates.registration import ArmText, Instrument, Registration
from stepprof.analyses.gates.schedule import Slot, stages
from stepprof.analyses.gates.state import GateState, gate_state
from stepprof.profiler.errors import InputError, Refused

RESULT = "result.json"
FINAL = re.compile(r"(\d+)-([AB])(?:-\d+)?")


@dataclass(frozen=True)
class Order:
    """One launch to make: what to start, in which folder, how to record it."""

    gate: Registration
    arm: ArmText
    slot: Slot
    folder: Path
    instrument: Instrument
    lock: int  # file descriptor that the launch shall hold


Launcher = Callable[[Order], int]  # the exit code of the program
Say = Callable[[str], None]


@dataclass(frozen=True)
class Progress:
    """Where a gate stands after a run: launches done, of all; why it stopped; whether one may look."""

    done: int
    of: int
    stopped: str
    may_look: bool


def run_gate(
    ledger: Ledger,
    name: str,
    launcher: Launcher,
    budget_s: float | None = None,
    instrument: Instrument | None = None,
    say: Say = lambda line: None,
) -> Progress:
    """Fill slots up to the next look; Refused where a launch crashed more often than was registered."""
    begun = time.monotonic()
    root = folder_of(ledger, name)
    gate_state(ledger, name)  # a gate that is not there gets no folder
    with _alone(root, name) as lock:
        state = _mended(ledger, name, root)
        run = _Run(ledger, root, launcher, _instrument(state, instrument), lock, say)
        stop = _next_stage(state)
        for slot in [slot for slot in state.missing if slot.number < stop]:
            while slot.number not in state.done:
                _check_crashes(state, slot)
                if _over_budget(state, begun, budget_s):
                    return _progress(state, "the budget is used up")
                run.launch(state, slot)
                state = gate_state(ledger, name)
    return _progress(state, "all launches up to the next look are made")


def folder_of(ledger: Ledger, name: str) -> Path:
    """Where the launches of a gate are kept: beside the ledger, under its name."""
    return ledger.path.parent / name


@dataclass(frozen=True)
class _Run:
    """What the launches of one run share."""

    ledger: Ledger
    root: Path
    launcher: Launcher
    instrument: Instrument
    lock: int
    say: Say

    def launch(self, state: GateState, slot: Slot) -> None:
        """One launch, from an empty folder to its line in the ledger."""
        gate = state.registration
        partial = self.root / f"{_label(state, slot)}.partial"
        partial.mkdir()
        self.say(f"launch {slot.number + 1} of {len(state.plan)}, arm {slot.arm}")
        arm = gate.control if slot.arm == "A" else gate.candidate
        started = time.time()
        code = self.launcher(Order(gate, arm, slot, partial, self.instrument, self.lock))
        result = {"slot": slot.number, "arm": slot.arm, "code": code, "started": started, "ended": time.time()}
        _settle(partial, {**result, "instrument": self.instrument})
        _note(self.ledger, gate.name, partial.with_suffix(""))
        if code:
            kept = partial.with_suffix("")
            self.say(f"launch {slot.number + 1} failed with exit code {code}; it is kept in {kept}")


def _settle(partial: Path, result: dict[str, object]) -> None:
    """Write the result and give the folder its final name; both on disk."""
    try:
        with (partial / RESULT).open("w") as file:
            json.dump(result, file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(partial.with_suffix(""))
    except OSError as fault:
        raise InputError(f"{partial} took no more ({fault.strerror}): free space and run the gate again.") from None


def _note(ledger: Ledger, name: str, folder: Path, cut: bool = False) -> None:
    """The line of a launch whose folder has its final name."""
    files = {path.name: file_hash(path) for path in sorted(folder.iterdir()) if path.is_file()}
    result = _cut_result(folder) if cut else json.loads((folder / RESULT).read_text())
    status = "cut" if cut else "crashed" if result["code"] else "done"
    ledger.append("launch", {"name": name, **result, "status": status, "folder": folder.name, "files": files})


def _cut_result(folder: Path) -> dict[str, object]:
    """What is known of a launch that was ended from outside: its slot, and when it wrote last."""
    found = FINAL.match(folder.name)
    assert found is not None, f"{folder.name=}"
    last = folder.stat().st_mtime
    return {"slot": int(found[1]), "arm": found[2], "code": -1, "started": last, "ended": last, "instrument": ""}


def _mended(ledger: Ledger, name: str, root: Path) -> GateState:
    """The state after folders that an interrupted run left are noted."""
    noted = {made.folder for made in gate_state(ledger, name).made}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.suffix == ".partial":
            kept = folder.with_suffix(".cut")
            folder.rename(kept)
            _note(ledger, name, kept, cut=True)
        elif folder.name not in noted:
            _note(ledger, name, folder, cut=folder.suffix == ".cut")
    return gate_state(ledger, name)


def _label(state: GateState, slot: Slot) -> str:
    """Name of a launch's folder: slot and arm, and how many went before in this slot."""
    before = sum(made.slot == slot for made in state.made)
    return f"{slot.number:03d}-{slot.arm}" + (f"-{before}" if before else "")


def _next_stage(state: GateState) -> int:
    """The number of launches up to which a run goes: the next look that was not taken."""
    done = len(state.plan) - len(state.missing)
    return next((stage for stage in stages(state.registration) if stage > done), len(state.plan))


def _instrument(state: GateState, asked: Instrument | None) -> Instrument:
    """What records the launches: one way for all of them."""
    before = next((made.instrument for made in state.done.values()), None)
    if before is not None and asked is not None and asked != before:
        raise Refused(f"the launches so far were recorded as {before!r}: go on that way, or register a new gate.")
    return asked or cast("Instrument | None", before) or state.registration.instrument


def _check_crashes(state: GateState, slot: Slot) -> None:
    gate, crashes = state.registration, len(state.crashes(slot))
    allowed = gate.reruns if gate.on_crash == "rerun" else 0
    if crashes > allowed:
        raise Refused(
            f"launch {slot.number} (arm {slot.arm}) of {gate.name} crashed {crashes} times, {allowed} re-runs were "
            "registered: mend the program and register a new gate."
        )


def _over_budget(state: GateState, begun: float, budget_s: float | None) -> bool:
    """Whether a launch as long as the longest so far would not fit."""
    if budget_s is None:
        return False
    longest = max((made.ended - made.started for made in state.made), default=0.0)
    return time.monotonic() - begun + longest > budget_s


def _progress(state: GateState, stopped: str) -> Progress:
    done = len(state.done)
    return Progress(done, len(state.plan), stopped, done in stages(state.registration))


@contextmanager
def _alone(root: Path, name: str) -> Generator[int]:
    """A lock that a launch inherits; Refused while another run, or a launch that outlived its run, holds it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as fault:
        raise InputError(f"{root} cannot be written ({fault.strerror}): free space or move the ledger.") from None
    try:
        _lock(lock, name)
        yield lock
    finally:
        os.close(lock)


def _lock(lock: int, name: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(
            f"a launch of {name} is still running, of this or an earlier gate run: wait until it has ended."
        ) from None


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
