"""`--resident FILE.jsonl`: the calls that a kernel which never leaves its card has stamped itself.

`stepprof run --resident` writes one line a call, times in ns on the host's real-time clock:

    {"resident": true, "round": 3, "layer": 7, "rows": 2, "seen_ns": 1, "gated_ns": 2, "answered_ns": 3,
     "clock_offset_bound_ns": 900}

They go to table resident_call on the clock of the trace, through the UTC time that the trace says
its zero was. How exact that is, only its tool knows: record files of stepprof capture use the very
clock, nsys and torch.profiler write it down once a session. So a call is kept only where it lies
within the trace; those outside are counted.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.clocks import epoch, name_of, span
from stepprof.profiler.ingest.json_lines import Amount, Count, bad_line, decode, insert, lines
from stepprof.profiler.store import Store


class ResidentCall(msgspec.Struct, forbid_unknown_fields=True):
    """One call, its times in ns since 1970."""

    resident: bool
    round: Amount
    layer: Count
    seen_ns: Amount
    answered_ns: Amount
    rows: Count | None = None
    gated_ns: Amount | None = None
    clock_offset_bound_ns: Amount | None = None


class StoredCall(msgspec.Struct):
    """A row of resident_call."""

    round: int
    layer: int
    rows: int | None
    seen_ns: int
    gated_ns: int | None
    answered_ns: int
    clock_offset_bound_ns: int | None


def load_residents(path: Path, store: Store) -> None:
    """Fill resident_call anew; InputError where a line is at fault or no call belongs to this trace."""
    calls = _calls(path)
    zero = epoch(store)
    if zero is None:
        raise InputError(
            f"{name_of(store)} does not say what time its clock began at, so the calls of {path} have no place in it: "
            "record it with stepprof capture, whose clock is theirs."
        )
    first, last = span(store)
    inside = [call for call in calls if first <= call.seen_ns - zero and call.answered_ns - zero <= last]
    if not inside:
        raise InputError(
            f"{path} holds no call within the time of {name_of(store)} ({len(calls)} lie outside): "
            "give the stamps of the same run."
        )
    store.con.execute("DELETE FROM resident_call; DELETE FROM warning WHERE code = 'resident_call_outside'")
    insert(store, "resident_call", [_stored(call, zero) for call in inside])
    lost = len(calls) - len(inside)
    store.warn("resident_call_outside", lost, f"{lost} resident calls lie outside of the trace and were left out.")


def _calls(path: Path) -> list[ResidentCall]:
    """All calls of a file, each checked; a round calls a layer once."""
    calls: list[ResidentCall] = []
    met: dict[tuple[int, int], int] = {}
    for number, line in lines(path):
        call = decode(path, number, line, ResidentCall)
        if not call.resident:
            raise bad_line(path, number, ResidentCall, "`resident` is false")
        times = [call.seen_ns, *([] if call.gated_ns is None else [call.gated_ns]), call.answered_ns]
        if times != sorted(times):
            raise bad_line(path, number, ResidentCall, "seen, gated and answered do not follow each other")
        before = met.setdefault((call.round, call.layer), number)
        if before != number:
            why = f"round {call.round} layer {call.layer} is that of line {before} again"
            raise bad_line(path, number, ResidentCall, why)
        calls.append(call)
    return calls


def _stored(call: ResidentCall, zero: int) -> StoredCall:
    """A row of resident_call, on the clock whose zero is given."""
    gated = None if call.gated_ns is None else call.gated_ns - zero
    seen, answered = call.seen_ns - zero, call.answered_ns - zero
    return StoredCall(call.round, call.layer, call.rows, seen, gated, answered, call.clock_offset_bound_ns)
