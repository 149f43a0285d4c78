"""Begin and end events (ph B and E) -> complete events, paired as they nest on their thread.

pairs = Pairs(notes)
pairs.add(events)      # complete events that ended among these
pairs.left_open()      # begins that never ended
"""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal

from msgspec import Raw

from stepprof.profiler.ingest.kineto_events import NO_ARGS, Event, exact_ns


class Pairs:
    """Begins that wait for their end, by process and thread."""

    def __init__(self, notes: Counter[str]) -> None:
        self._notes = notes
        self._open: defaultdict[tuple[int | str, int | str], list[Event]] = defaultdict(list)

    def add(self, events: list[Event]) -> list[Event]:
        """The complete events that end among these."""
        paired = [self._pair(event) for event in events if event.ph in ("B", "E")]
        return [event for event in paired if event is not None]

    def _pair(self, event: Event) -> Event | None:
        stack = self._open[event.pid, event.tid]
        if event.ph == "B":
            stack.append(event)
            return None
        if not stack:
            self._notes["end_without_begin"] += 1
            return None
        return _complete(stack.pop(), event)

    def left_open(self) -> list[Event]:
        """Begins without an end."""
        return [event for stack in self._open.values() for event in stack]


def _complete(begin: Event, end: Event) -> Event:
    dur_us = Raw(str(Decimal(exact_ns(end.ts) - exact_ns(begin.ts)) / 1000).encode())
    args = begin.args if begin.args is not NO_ARGS else end.args
    return Event("X", begin.cat, begin.name, begin.pid, begin.tid, begin.ts, dur_us, args)
