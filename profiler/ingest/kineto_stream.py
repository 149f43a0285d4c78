"""A trace document cut at the borders of its events, whatever its layout.

    frames = Frames(blocks, path, notes)
    frames.header                  # the text before the list of events
    for text in frames: ...        # a JSON list of whole events
    frames.footer                  # the text after the list

Kineto writes each event on lines of its own, other tools one line for all. A
border is looked for from the end of what has been read: `}, {"ph"` and the like.
Inside an event that is rare, and a chunk cut there does not parse: the reader then
gives the rest of it back. The end of the list is found by the reader too.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from stepprof.profiler.errors import InputError

CHUNK = 1 << 18
MAX_EVENT = 8 << 20  # bytes; also for header and footer
KEYS = rb'"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s)"\s{0,8}:'
BORDER = re.compile(rb"\}\s{0,64},\s{0,64}(?=\{\s{0,64}" + KEYS + rb")")
LONGEST_BORDER = 256
LIST = re.compile(rb'"traceEvents"\s{0,64}:\s{0,64}\[')


class Frames:
    """The events of a document, a list at a time; the `last` one may run on into the footer."""

    def __init__(self, blocks: Iterator[bytes | memoryview], path: Path, notes: Counter[str]) -> None:
        self._blocks = blocks
        self._notes = notes
        self._buffer = bytearray()
        self._path = path
        self._borderless = 0  # so much of the buffer is known to hold no border
        self.last = False
        self.closed = False
        self.footer = b""
        self.header = self._read_header()

    def _read_header(self) -> bytes:
        for block in self._blocks:
            self._buffer += block
            text = self._buffer.lstrip()
            if text.startswith(b"["):
                return self._take(len(self._buffer) - len(text) + 1)[:0]
            if found := LIST.search(self._buffer):
                return self._take(found.end())
            if len(self._buffer) > MAX_EVENT:
                break
        if self._notes["gzip_damaged"]:
            raise InputError(f"{self._path} is a damaged gzip file: copy or export it again.")
        raise InputError(f"{self._path} holds no list of trace events: give a trace of torch.profiler.")

    def _take(self, size: int) -> bytes:
        head = bytes(self._buffer[:size])
        del self._buffer[:size]
        return head

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self._buffer += block
            if len(self._buffer) < CHUNK:
                continue
            border = last_border(self._buffer, self._borderless)
            self._borderless = 0 if border else max(len(self._buffer) - LONGEST_BORDER, 0)
            if border:
                yield self._cut(*border)
                if self.closed:
                    return
            elif len(self._buffer) > MAX_EVENT:
                self._skip_event()
        self.last = True
        yield self._cut(len(self._buffer), len(self._buffer))

    def _cut(self, end: int, go_on: int) -> bytes:
        """The buffer up to `end` as a list, and only what starts at `go_on` left."""
        with memoryview(self._buffer) as view:
            text = b"".join((b"[", view[:end], b"]"))
        del self._buffer[:go_on]
        return text

    def give_back(self, rest: bytes) -> None:
        """Text of an event that is not finished: it comes again with what follows."""
        self._buffer[:0] = rest + b","
        self._borderless = 0

    def close(self, rest: bytes) -> None:
        """The list has ended before `rest`: keep that as footer and read the file to its end."""
        self.closed = True
        footer = bytearray(rest)
        if not self.last:
            footer += b"," + self._buffer
        for block in self._blocks:
            if len(footer) < MAX_EVENT:
                footer += block
        self.footer = bytes(footer)

    def _skip_event(self) -> None:
        """Drop an event larger than MAX_EVENT: everything up to the next border."""
        self._notes["event_too_large"] += 1
        self._buffer.clear()
        self._borderless = 0
        for block in self._blocks:
            self._buffer += block
            if border := BORDER.search(self._buffer):
                del self._buffer[: border.end()]
                return
            del self._buffer[:-LONGEST_BORDER]
        self._buffer.clear()


def last_border(text: bytearray, floor: int = 0) -> tuple[int, int] | None:
    """End of the last event that has a successor, and start of that; None where `floor` on there is no border."""
    window = 4096
    while True:
        low = max(len(text) - window, floor)
        if found := deque(BORDER.finditer(text, low), maxlen=1):
            return found[0].start() + 1, found[0].end()
        if low == floor:
            return None
        window *= 8
