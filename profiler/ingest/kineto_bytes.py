"""The bytes of a JSON trace as UTF-8 blocks: gzip, byte order mark and UTF-16 taken off.

    for block in utf8_blocks(path, notes): ...

Unpacking runs ahead in a thread of its own (zlib lets the interpreter go on). What a
damaged gzip file holds before the damage is given; `notes` counts the damage.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import BinaryIO

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC, unpacked

BLOCK = 1 << 18  # small, so that a block stays in the cache until it is decoded
READ = 1 << 22
AHEAD = 2
UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def utf8_blocks(path: Path, notes: Counter[str]) -> Iterator[bytes | memoryview]:
    """The text of a plain or gzip file, never more than a few blocks in memory."""
    with path.open("rb") as file, closing(Ahead(_blocks(file, path, notes))) as blocks:
        yield from _as_utf8(small for block in blocks for small in _slices(block))


def _blocks(file: BinaryIO, path: Path, notes: Counter[str]) -> Iterator[bytes]:
    try:
        packed = file.read(2) == GZIP_MAGIC
        file.seek(0)
        yield from unpacked(file, notes) if packed else iter(lambda: file.read(READ), b"")
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): check the disk.") from None


class Ahead:
    """The same blocks, made in a thread a few steps ahead of their use."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._queue: Queue[bytes | BaseException | None] = Queue(AHEAD)
        self._stop = Event()
        self._thread = Thread(target=self._run, args=(blocks,), daemon=True)
        self._thread.start()

    def _run(self, blocks: Iterator[bytes]) -> None:
        try:
            for block in blocks:
                self._put(block)
                if self._stop.is_set():
                    return
            self._put(None)
        except BaseException as fault:  # told to the thread that waits for the block
            self._put(fault)

    def _put(self, item: bytes | BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                return self._queue.put(item, timeout=0.1)
            except Full:
                continue

    def __iter__(self) -> Iterator[bytes]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()


def _slices(block: bytes) -> Iterator[memoryview]:
    whole = memoryview(block)
    return (whole[at : at + BLOCK] for at in range(0, len(block), BLOCK))


def _as_utf8(blocks: Iterator[memoryview]) -> Iterator[bytes | memoryview]:
    first = bytes(next(blocks, b""))
    encoding = UTF16.get(first[:2]) or _bare_utf16(first)
    if encoding is None:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).removeprefix("\ufeff").encode("utf-8", "replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")


def _bare_utf16(first: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of the first bracket is zero."""
    if first[:1] in b"{[" and first[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if first[:1] == b"\0" and first[1:2] in (b"{", b"[") else None
