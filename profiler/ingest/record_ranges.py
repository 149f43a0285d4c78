"""NVTX marks of one process -> ranges: push and pop pair as they nest on their thread, start and end by id."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from stepprof.profiler.ingest.record_rows import POP, PUSH, START, STOP

# NVTX payload type -> how its 8 bytes read
PAYLOADS = {1: "<Q", 2: "<q", 3: "<d", 4: "<I", 5: "<i", 6: "<f"}
Row = tuple[int, ...]


@dataclass
class Ranges:
    """Closed ranges as columns; `add` takes marks in the order in which they were written."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    unmatched: int = 0  # ends without a begin
    _stacks: defaultdict[tuple[int, int], list[Row]] = field(default_factory=lambda: defaultdict(list))
    _started: dict[tuple[int, int], Row] = field(default_factory=dict)

    def add(self, marks: Any) -> None:
        """The rows of one record of marks."""
        for mark in marks.tolist():
            thread, domain, what, number = mark[3], mark[5], mark[7], mark[1]
            if what == PUSH:
                self._stacks[thread, domain].append(mark)
            elif what == START:
                self._started[domain, number] = mark
            elif what == POP:
                stack = self._stacks[thread, domain]
                self._close(stack.pop() if stack else None, mark)
            elif what == STOP:
                self._close(self._started.pop((domain, number), None), mark)

    def end(self, last_ns: int) -> None:
        """Ranges that were never closed end with the trace."""
        for begin in [*(row for stack in self._stacks.values() for row in stack), *self._started.values()]:
            self._row(begin, max(last_ns, begin[0]), None, left_open=True)
        self._stacks.clear()
        self._started.clear()

    def _close(self, begin: Row | None, end: Row) -> None:
        if begin is None:
            self.unmatched += 1
        else:
            self._row(begin, end[0], end[3] if end[3] != begin[3] else None, left_open=False)

    def _row(self, begin: Row, end_ns: int, end_thread: int | None, left_open: bool) -> None:
        time, _, payload, thread, text, domain, category, what, payload_type = begin
        values = (thread, end_thread, time, end_ns, text, domain, category, _payload(payload, payload_type))
        for column, value in zip(self.columns.values(), (*values, what == PUSH, left_open), strict=True):
            column.append(value)


COLUMNS = (
    *("thread", "end_thread", "start_ns", "end_ns", "text", "domain", "category", "payload"),
    *("nested", "left_open"),
)


def _payload(value: int, kind: int) -> str | None:
    if kind not in PAYLOADS:
        return None
    return str(struct.unpack_from(PAYLOADS[kind], struct.pack("<Q", value))[0])
