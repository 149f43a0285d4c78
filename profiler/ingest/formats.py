"""What kind of file this is, from its first bytes, and gzip taken off where the reader needs that.

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
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.ingest.record_rows import MAGIC as RECORDS_MAGIC

SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # at byte 8
RUN_FILE, NSYS_SQLITE, KINETO_JSON, RECORDS = "run", "nsys-sqlite", "kineto-json", "stepprof-records"
READABLE = (
    "an nsys SQLite export (.sqlite, .sqlite.gz), a torch.profiler trace (.json, .json.gz), "
    "records of stepprof capture (.steprec, or a folder of them) or a run file (.duckdb)"
)
HEAD_BYTES = 4096


@dataclass(frozen=True)
class Source:
    """A trace file ready to be read: its format and its path (JSON may still be gzip)."""

    format: str
    path: Path


@contextmanager
def opened(path: Path) -> Generator[Source]:
    """The file as a Source; a gzip file that is no JSON is unpacked to a temporary one for the time of the block."""
    head = _head(path)
    packed = head.startswith(GZIP_MAGIC)
    form = _format(path, _unpacked_head(path) if packed else head)
    if not packed or form == KINETO_JSON:
        yield Source(form, path)
        return
    with tempfile.NamedTemporaryFile(prefix="stepprof-", suffix=".unpacked") as plain:
        _unpack(path, Path(plain.name))
        yield Source(form, Path(plain.name))


def is_run_file(path: Path) -> bool:
    """True for a run file of ours (a DuckDB file)."""
    return _head(path)[8:12] == DUCKDB_MAGIC


def _format(path: Path, head: bytes) -> str:
    if head.startswith(SQLITE_MAGIC):
        return NSYS_SQLITE
    if head[8:12] == DUCKDB_MAGIC:
        return RUN_FILE
    if head.startswith(RECORDS_MAGIC):
        return RECORDS
    text = head.translate(None, b"\xef\xbb\xbf\xff\xfe\0").lstrip()  # without byte order marks, UTF-16 as ASCII
    if text[:1] in (b"{", b"[") and not head.startswith(b"\0\0"):
        return KINETO_JSON
    what = (
        "is empty"
        if not head.strip()
        else "is a web page"
        if text[:1] == b"<"
        else "is not a trace that stepprof reads"
    )
    raise InputError(f"{path} {what}: give {READABLE}.")


def _head(path: Path) -> bytes:
    try:
        if path.is_dir() and record_files(path):  # a folder of record files, one a process
            path = record_files(path)[0]
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: give {READABLE}.")
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): check the path.") from None


def _unpacked_head(path: Path) -> bytes:
    try:
        with gzip.open(path, "rb") as packed:
            return packed.read1(HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise InputError(f"{path} is a damaged gzip file ({fault}): copy or export it again.") from None


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
