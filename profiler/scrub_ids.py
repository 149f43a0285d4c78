"""Processes and threads numbered anew: from 1, in the order of their ids, so that joins and orders stay.

numbered([4711, 99])              # {99: 1, 4711: 2}
global_ids([1 << 48 | 99 << 24 | 4712], {99: 1})     # 1 << 48 | 1 << 24 | 1, the layout of nsys
"""

from __future__ import annotations

from collections.abc import Iterable

FIELD = (1 << 24) - 1
UNSIGNED = (1 << 64) - 1
NONE = {0, -1}


def numbered(ids: Iterable[int], first: int = 1) -> dict[int, int]:
    """The new number of each id; 0 and -1 stand for none and stay."""
    every = set(ids)
    return {none: none for none in NONE & every} | {old: new for new, old in enumerate(sorted(every - NONE), first)}


def global_ids(values: Iterable[int], pids: dict[int, int]) -> dict[int, int]:
    """nsys's ids of threads and processes, machine << 48 | pid << 24 | tid, with new numbers in each of the three."""
    parts = {value: (value & UNSIGNED) for value in values}
    machines = numbered(part >> 48 for part in parts.values())
    tids = numbered(part & FIELD for part in parts.values())
    return {
        value: machines[part >> 48] << 48 | pids[pid_of(value)] << 24 | tids[part & FIELD]
        for value, part in parts.items()
    }


def pid_of(value: int) -> int:
    """The process in an id of nsys."""
    return value >> 24 & FIELD
