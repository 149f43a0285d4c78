"""What kind of file this is, from its first bytes, and gzip taken off.

with opened(path) as source: source.format, source.path
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stepprof.profiler.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # at byte 8
RUN_FILE, NSYS_SQLITE = "run", "nsys-sqlite"
READABLE = "an nsys SQLite export (.sqlite, .sqlite.gz) or a run file (.duckdb)"


@dataclass(frozen=True)
class Source:
    """A trace file ready to be read: its format and the path of its plain bytes."""

    format: str
    path: Path


@contextmanager
def opened(path: Path) -> Generator[Source]:
    """The file as a Source; a gzip file is unpacked to a temporary one for the time of the block."""
    head = _head(path)
    if not head.startswith(GZIP_MAGIC):
        yield Source(_format(path, head), path)
        return
    with tempfile.NamedTemporaryFile(prefix="stepprof-", suffix=".unpacked") as plain:
        _unpack(path, Path(plain.name))
        yield Source(_format(path, _head(Path(plain.name))), Path(plain.name))


def is_run_file(path: Path) -> bool:
    """True for a run file of ours (a DuckDB file)."""
    return _head(path)[8:12] == DUCKDB_MAGIC


def _format(path: Path, head: bytes) -> str:
    if head.startswith(SQLITE_MAGIC):
        return NSYS_SQLITE
    if head[8:12] == DUCKDB_MAGIC:
        return RUN_FILE
    what = "is empty" if not head else "is not a trace that stepprof reads"
    raise InputError(f"{path} {what}: give {READABLE}.")


def _head(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: give {READABLE}.")
        with path.open("rb") as file:
            return file.read(16)
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): check the path.") from None


def _unpack(path: Path, plain: Path) -> None:
    try:
        with gzip.open(path, "rb") as packed, plain.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise InputError(f"{path} is a damaged gzip file ({fault}): copy or export it again.") from None
    except OSError as fault:
        raise InputError(
            f"{path} cannot be unpacked ({fault.strerror}): free space in {tempfile.gettempdir()}."
        ) from None
