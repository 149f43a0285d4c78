"""One event of a trace as a typed struct, and times exact to the nanosecond.

Times are microseconds with three decimals. A float holds them exactly below 2**43
(the relative times of newer traces); larger ones (absolute times of older traces) are
read again as text.

    events = EventDecoder().decode(b'[{"ph": "X", "cat": "kernel", "ts": 1.5, "dur": 0.25}]')
    exact_ns(events[0].ts)   # 1500
"""

from __future__ import annotations

from array import array
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct, field

MISSING = -(1 << 63)
NONE3 = (MISSING, MISSING, MISSING)
FLOAT_LIMIT = float(1 << 43)  # microseconds; above it a float may be half a nanosecond off
TIME_LIMIT = 9_000_000_000_000_000  # microseconds that fit 64-bit nanoseconds
BROKEN = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]


class Args(Struct, frozen=True, gc=False):
    """Arguments of GPU rows, API calls and waits; the others are not read."""

    device: int | str = MISSING
    context: int | str = MISSING
    stream: int | str = MISSING
    correlation: int = MISSING
    registers: int = field(default=MISSING, name="registers per thread")
    shared: int = field(default=MISSING, name="shared memory")
    graph_id: int = field(default=MISSING, name="graph id")
    graph_node: int = field(default=MISSING, name="graph node id")
    bytes: int | str = MISSING
    from_device: int = field(default=MISSING, name="fromDevice")
    to_device: int = field(default=MISSING, name="toDevice")
    in_device: int = field(default=MISSING, name="inDevice")
    in_context: int = field(default=MISSING, name="inContext")
    wait_stream: int = field(default=MISSING, name="wait_on_stream")
    wait_record: int = field(default=MISSING, name="wait_on_cuda_event_record_corr_id")
    wait_event: int = field(default=MISSING, name="wait_on_cuda_event_id")
    event: int = field(default=MISSING, name="event_id")
    grid: tuple[int, int, int] = NONE3
    block: tuple[int, int, int] = NONE3


NO_ARGS = Args()


class Event(Struct, gc=False):
    """One event; `ts` and `dur` are what `exact_ns` takes; floats are below FLOAT_LIMIT."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = MISSING
    tid: int | str = MISSING
    ts: Any = None
    dur: Any = None
    args: Args = NO_ARGS


class FloatEvent(Event, gc=False):
    """An event whose times are read as floats."""

    ts: float = float("nan")
    dur: float = float("nan")


class TextEvent(Event, gc=False):
    """An event whose times are kept as text."""

    ts: Raw = Raw(b"")
    dur: Raw = Raw(b"")


class EventDecoder:
    """Decodes lists of events; from the first large time on, times are read as text."""

    def __init__(self) -> None:
        self._floats: msgspec.json.Decoder[list[FloatEvent]] | None = msgspec.json.Decoder(list[FloatEvent])
        self._texts = msgspec.json.Decoder(list[TextEvent])

    def decode(self, text: bytes) -> list[Event]:
        """The events of a JSON list; one of BROKEN where it is none."""
        if self._floats is not None:
            events = self._floats.decode(text)
            if not any(abs(e.ts) >= FLOAT_LIMIT for e in (*events[:2], *events[len(events) // 2 :][:2], *events[-2:])):
                return events  # pyright: ignore[reportReturnType]
            self._floats = None
        return self._texts.decode(text)  # pyright: ignore[reportReturnType]


def floats_to_ns(values: array[float]) -> Ints:
    """Microseconds as integer nanoseconds; MISSING where they are no time."""
    us = np.array(values, dtype=np.float64)
    fits = np.abs(us) < TIME_LIMIT
    us[~fits] = 0
    return np.where(fits, np.rint(us * 1000).astype(np.int64), MISSING)


def exact_ns(value: Any) -> int:
    """One time, whatever its type, as nanoseconds."""
    text = bytes(value).decode("ascii", "replace") if isinstance(value, Raw) else str(value)
    try:
        us = Decimal(text.strip('" '))
        return int((us * 1000).to_integral_value()) if abs(us) < TIME_LIMIT else MISSING
    except (InvalidOperation, ValueError):
        return MISSING
