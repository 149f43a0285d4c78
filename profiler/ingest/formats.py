"""What a trace is, from its first bytes or its tables, and made readable where its reader needs that.

    with opened(path) as source: source.format, source.path

gzip is taken off into a temporary file, and an nsys report is exported into one; both are
gone with the block. A folder is an nsys parquetdir export or holds the records of a capture.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.gunzip import unpacked_file
from stepprof.profiler.ingest.gzip_stream import GZIP_MAGIC
from stepprof.profiler.ingest.nsys_convert import CAPTURE_MAGIC, REPORT_MAGIC, exported
from stepprof.profiler.ingest.parquet_reader import parquet_files, readable_tables
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.ingest.record_rows import MAGIC as RECORDS_MAGIC

SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # at byte 8
RUN_FILE, NSYS_SQLITE, KINETO_JSON, RECORDS = "run", "nsys-sqlite", "kineto-json", "stepprof-records"
NSYS_PARQUET, NSYS_REPORT, NSYS_CAPTURE = "nsys-parquetdir", "nsys-rep", "nsys-qdstrm"
READABLE = (
    "an nsys export (.sqlite, .sqlite.gz, a parquetdir folder) or report (.nsys-rep), "
    "a torch.profiler trace (.json, .json.gz), records of stepprof capture (.steprec, or a folder of them) "
    "or a run file (.duckdb)"
)
HEAD_BYTES = 4096
# what people hand over by mistake, with what to do about it
MISTAKEN = (
    (0, GZIP_MAGIC, "is gzip within gzip: unpack it once"),
    (0, b"PK\x03\x04", "is a zip archive: unpack it first"),
    (257, b"ustar", "is a tar archive: unpack it first"),
    (0, b"PAR1", "is one table of a parquetdir export: give the folder it belongs to"),
)


@dataclass(frozen=True)
class Source:
    """A trace ready to be read: its format and its path (JSON may still be gzip)."""

    format: str
    path: Path


@contextmanager
def opened(path: Path) -> Generator[Source]:
    """The trace as a Source, for the time of the block."""
    if is_folder(path):
        yield Source(_folder_format(path), path)
        return
    head = _head(path)
    packed = head.startswith(GZIP_MAGIC)
    form = _format(path, _unpacked_head(path) if packed else head)
    if not packed or form == KINETO_JSON:
        yield from _plain(form, path, path)
        return
    with unpacked_file(path) as plain:
        yield from _plain(form, plain, path)


def is_run_file(path: Path) -> bool:
    """True for a run file of ours (a DuckDB file)."""
    return not is_folder(path) and _head(path)[8:12] == DUCKDB_MAGIC


def is_folder(path: Path) -> bool:
    """True for a folder; what cannot be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _plain(form: str, path: Path, shown: Path) -> Generator[Source]:
    """The source itself, or what nsys exports from it."""
    if form not in (NSYS_REPORT, NSYS_CAPTURE):
        yield Source(form, path)
        return
    with exported(path, shown, capture=form == NSYS_CAPTURE) as sqlite:
        yield Source(form, sqlite)


def _folder_format(folder: Path) -> str:
    try:
        if record_files(folder):
            return RECORDS
        files = parquet_files(folder)
    except OSError as fault:
        raise InputError(f"{folder} cannot be read ({fault.strerror}): check the path.") from None
    if not files:
        raise InputError(f"{folder} is a folder without parquet files: give the folder of nsys export -t parquetdir.")
    if not readable_tables(folder):
        raise InputError(
            f"{folder} holds no table of an nsys export (StringIds.parquet and others): "
            "give the folder of nsys export -t parquetdir."
        )
    return NSYS_PARQUET


def _format(path: Path, head: bytes) -> str:
    if head.startswith(SQLITE_MAGIC):
        return NSYS_SQLITE
    if head[8:12] == DUCKDB_MAGIC:
        return RUN_FILE
    if head.startswith(REPORT_MAGIC):
        return NSYS_REPORT
    if head.startswith(RECORDS_MAGIC):
        return RECORDS
    if CAPTURE_MAGIC in head[:64]:
        return NSYS_CAPTURE
    text = head.translate(None, b"\xef\xbb\xbf\xff\xfe\0").lstrip()  # without byte order marks, UTF-16 as ASCII
    if text[:1] in (b"{", b"[") and not head.startswith(b"\0\0"):
        return KINETO_JSON
    raise InputError(f"{path} {_what_else(head, text)}.")


def _what_else(head: bytes, text: bytes) -> str:
    """What a file is that is no trace, and what to give in its place."""
    for at, magic, what in MISTAKEN:
        if head[at : at + len(magic)] == magic:
            return what
    if not head.strip():
        return f"is empty: give {READABLE}"
    return f"is {'a web page' if text[:1] == b'<' else 'not a trace that stepprof reads'}: give {READABLE}"


def _head(path: Path) -> bytes:
    try:
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
