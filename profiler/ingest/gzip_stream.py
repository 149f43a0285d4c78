"""A gzip file unpacked piece by piece; everything before a damage is given.

    for block in unpacked(file, notes): ...

Python's gzip module loses what it unpacked in the step that met a fault, here nothing
is lost but the fault itself: `notes` counts `gzip_damaged` (cut off, corrupt, wrong
checksum) or `gzip_trailing` (other bytes after the last member).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
PACKED = 1 << 18  # bytes read at a time
UNPACKED = 1 << 22  # bytes given at a time
EXTRA, NAME, COMMENT, CHECK = 4, 8, 16, 2
MAX_HEADER = 1 << 17


class Damaged(Exception):
    """The file is not whole gzip from here on."""


class Input:
    """The packed bytes, with what a step has left over put back in front."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.buffer = b""

    def fill(self, least: int = 1) -> None:
        """Have at least so many bytes, or all there are."""
        while len(self.buffer) < least and (more := self._file.read(PACKED)):
            self.buffer += more

    def take(self, size: int) -> bytes:
        """Exactly so many bytes."""
        self.fill(size)
        if len(self.buffer) < size:
            raise Damaged
        head, self.buffer = self.buffer[:size], self.buffer[size:]
        return head

    def skip_text(self) -> None:
        """A text that ends with a zero byte."""
        self.fill(MAX_HEADER)
        _, end, self.buffer = self.buffer.partition(b"\0")
        if not end:
            raise Damaged


def unpacked(file: BinaryIO, notes: Counter[str]) -> Iterator[bytes]:
    """The bytes of all members of a gzip file."""
    source = Input(file)
    try:
        while True:
            _skip_header(source)
            yield from _member(source)
            source.fill(2)
            source.buffer = source.buffer.lstrip(b"\0") if source.buffer[:1] == b"\0" else source.buffer
            if not source.buffer.startswith(GZIP_MAGIC):
                break
    except (Damaged, zlib.error):
        notes["gzip_damaged"] += 1
        return
    notes["gzip_trailing"] += bool(source.buffer)


def _skip_header(source: Input) -> None:
    head = source.take(10)
    if not head.startswith(GZIP_MAGIC) or head[2] != 8:
        raise Damaged
    if head[3] & EXTRA:
        source.take(int.from_bytes(source.take(2), "little"))
    for flag in (NAME, COMMENT):
        if head[3] & flag:
            source.skip_text()
    if head[3] & CHECK:
        source.take(2)


def _member(source: Input) -> Iterator[bytes]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    check = size = 0
    while not inflate.eof:
        source.fill()
        if not source.buffer:
            raise Damaged
        before = inflate.copy()
        try:
            block = inflate.decompress(source.buffer, UNPACKED)
        except zlib.error:
            yield from _up_to_damage(before.decompress, source.buffer)
            raise
        source.buffer = inflate.unconsumed_tail or inflate.unused_data
        check, size = zlib.crc32(block, check), size + len(block)
        if block:
            yield block
    if source.take(8) != check.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little"):
        raise Damaged


def _up_to_damage(decompress: Callable[[bytes], bytes], packed: bytes) -> Iterator[bytes]:
    """Small steps, to lose little at the damage."""
    for at in range(0, len(packed), 64):
        try:
            yield decompress(packed[at : at + 64])
        except zlib.error:
            return
