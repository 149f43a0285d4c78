"""The bytes of a file given beside a trace (edges, facts, costs): plain or gzip, of a size that fits in memory.

A pipe without a writer would never end, a device never stop, and a small gzip file can hold gigabytes.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC

MAX_BYTES = 256 << 20


def side_bytes(path: Path) -> bytes:
    """All bytes of a side file; InputError where it is no regular file, damaged or too large."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: give a file.")
        with path.open("rb") as file:
            packed = file.read(2) == GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise InputError(f"{path} is a damaged gzip file ({fault}): copy it again.") from None
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): check the path.") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path} holds more than {MAX_BYTES >> 20} MiB: give the part that belongs to this trace.")
    return data
