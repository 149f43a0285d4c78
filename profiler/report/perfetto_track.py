"""Tracks of a Perfetto trace: groups and rows by number, named once, and events on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]
Track = tuple[int, int]  # process and thread of Chrome's form: a group of tracks, and a track of it

STEPS, PATH, CARDS, HOSTS = 1, 2, 10, 1000  # groups in the order in which they are shown; cards and hosts count up


@dataclass
class Tracks:
    """Makes events; remembers which tracks were used. `base` is the time that becomes 0, ns."""

    base: int
    groups: dict[int, str] = field(default_factory=dict[int, str])
    rows: dict[Track, str] = field(default_factory=dict[Track, str])

    def track(self, group: int, group_name: str, row: int, row_name: str) -> Track:
        """A track, named."""
        self.groups.setdefault(group, group_name)
        self.rows.setdefault((group, row), row_name)
        return group, row

    def slice(self, track: Track, name: str, category: str, start: int, end: int, **args: Any) -> Event:
        """Something that lasts."""
        event = {"ph": "X", "pid": track[0], "tid": track[1], "name": name, "cat": category}
        return event | {"ts": self.at(start), "dur": (end - start) / 1000, "args": args}

    def flow(self, number: int, category: str, source: tuple[Track, int], target: tuple[Track, int]) -> list[Event]:
        """An arrow from a moment inside one slice to the start of another."""
        head = {"cat": category, "name": category, "id": number}
        (a, leaves), (b, arrives) = source, target
        return [
            head | {"ph": "s", "pid": a[0], "tid": a[1], "ts": self.at(leaves)},
            head | {"ph": "f", "bp": "e", "pid": b[0], "tid": b[1], "ts": self.at(arrives)},
        ]

    def counter(self, name: str, at: int, value: float) -> Event:
        """A value at a moment."""
        return {"ph": "C", "pid": HOSTS - 1, "tid": 0, "name": name, "ts": self.at(at), "args": {"value": value}}

    def at(self, ns: int) -> float:
        """A time in µs; a double holds a nanosecond exactly for a hundred days."""
        return (ns - self.base) / 1000

    def names(self) -> Iterator[Event]:
        """The names and the order of all tracks used."""
        for group, name in sorted(self.groups.items()):
            yield self._meta("process_name", group, 0, name=name)
            yield self._meta("process_sort_index", group, 0, sort_index=group)
        for (group, row), name in sorted(self.rows.items()):
            yield self._meta("thread_name", group, row, name=name)
            yield self._meta("thread_sort_index", group, row, sort_index=row)

    def _meta(self, what: str, group: int, row: int, **args: Any) -> Event:
        return {"ph": "M", "pid": group, "tid": row, "name": what, "args": args}
