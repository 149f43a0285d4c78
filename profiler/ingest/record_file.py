"""A record file of the collector, read record by record; what a kill cut off is left out.

for kind, rows in RecordFile(path): ...      # rows: a numpy array, or (id, text) pairs for kind TEXT
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.record_rows import END, HEADER, MAGIC, ROWS, TEXT, VERSION

SUFFIX = ".steprec"
HEAD = struct.Struct("<II")


def record_files(path: Path) -> list[Path]:
    """The record files of a folder by name, or the file itself."""
    return sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]


def has_header(path: Path) -> bool:
    """Whether a file goes on behind its header's place: a kill or a full disk may leave less."""
    return path.stat().st_size >= HEADER.itemsize


class RecordFile:
    """One process's records; `cut` tells after reading that the file breaks off, `ended` that it was closed in order."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
        if len(self._data) < HEADER.itemsize:
            raise InputError(f"{path} ends inside its header: record the program again.")
        header = np.frombuffer(self._data, HEADER, 1)[0]
        if bytes(self._data[:8]) != MAGIC or header["version"] != VERSION:
            raise InputError(
                f"{path} is a record file of version {header['version']}, this stepprof reads {VERSION}: "
                "record and import with the same stepprof."
            )
        self.pid, self.ops_mode = int(header["pid"]), bool(header["mode"])
        self.cut = self.ended = False

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        at, size = HEADER.itemsize, len(self._data)
        while at + HEAD.size <= size:
            length, kind = HEAD.unpack_from(self._data, at)
            at += HEAD.size
            whole = min(length, size - at)
            self.cut = whole < length
            yield from self._record(kind, at, whole)
            at += length
        self.cut = self.cut or at != size

    def _record(self, kind: int, at: int, size: int) -> Iterator[tuple[int, Any]]:
        if kind == TEXT:
            yield TEXT, list(self._texts(at, size))
        elif kind in ROWS:
            dtype = ROWS[kind][1]
            count = size // dtype.itemsize
            self.ended = self.ended or (kind == END and count > 0)
            yield kind, np.frombuffer(self._data, dtype, count, at)
        # kinds of a later stepprof are passed over

    def _texts(self, at: int, size: int) -> Iterator[tuple[int, str]]:
        end = at + size
        while at + HEAD.size <= end:
            number, length = HEAD.unpack_from(self._data, at)
            at += HEAD.size
            if at + length <= end:
                yield number, self._data[at : at + length].decode(errors="replace")
            at += length
