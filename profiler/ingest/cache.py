"""Any TRACE as a run file: imported once, then found again by its content.

    run = cached_run(Path("capture.sqlite.gz"), Extras())

The folder is $STEPPROF_CACHE, else stepprof below $XDG_CACHE_HOME or ~/.cache.
It holds at most $STEPPROF_CACHE_BYTES (2 GiB); the runs longest unused go first.
Where the folder cannot be written, the run lives as long as this process.
Two processes that import one trace at once each make the file whole; the later replaces the earlier.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import stepprof
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.formats import is_run_file
from stepprof.profiler.ingest.importer import Extras, content_hash, import_run
from stepprof.profiler.ingest.side_file import side_bytes
from stepprof.profiler.store import SCHEMA, SCHEMA_VERSION, open_run

DEFAULT_BYTES = 2 << 30
ABANDONED_S = 24 * 3600  # a partial file this old belongs to an import that was killed
HERE = Path(__file__).parent


def cached_run(trace: Path, extras: Extras) -> Path:
    """The run file of a trace, imported where the cache lacks it; a run file is returned as it is.

    Raises InputError where the trace or an extra is at fault.
    """
    if is_run_file(trace):
        if extras.files:
            raise InputError(
                f"{trace} is a run file: add edges, facts, costs and resident calls to a copy with stepprof import."
            )
        return trace
    limit = _limit()
    folder = cache_folder()
    run = folder / f"{_key(trace, extras)}.duckdb"
    if _usable(run):
        os.utime(run)
    else:
        import_run(trace, run, extras, force=True)
        _evict(folder, keep=run, limit=limit)
    return run


def _key(trace: Path, extras: Extras) -> str:
    """Hash of all that the run depends on: contents, schema, code."""
    parts = [content_hash(trace), str(SCHEMA_VERSION), _code_version(), *_extras_parts(extras)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()


def _extras_parts(extras: Extras) -> Iterator[str]:
    """Each extra by its kind: one file given as facts or as costs makes two runs."""
    for field in fields(extras):
        value = getattr(extras, field.name)
        if value in extras.files:
            yield f"{field.name}={_extra_hash(value)}"
        elif value is not None:
            yield f"{field.name}={value!r}"


def _extra_hash(path: Path) -> str:
    return hashlib.blake2b(side_bytes(path), digest_size=20).hexdigest()


@functools.cache
def _code_version() -> str:
    """The version of stepprof, and its ingest code byte by byte: a changed reader reads again."""
    files = sorted(p for p in HERE.iterdir() if p.suffix in (".py", ".sql"))
    digest = hashlib.blake2b(stepprof.__version__.encode(), digest_size=20)
    for path in (*files, SCHEMA):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _limit() -> int:
    text = os.environ.get("STEPPROF_CACHE_BYTES", "").strip() or str(DEFAULT_BYTES)
    if not text.isdecimal():
        raise InputError(f"STEPPROF_CACHE_BYTES is {text!r}: give a whole number of bytes.")
    return int(text)


def cache_folder() -> Path:
    """The cache folder if it can be written, else a temporary one."""
    try:
        folder = _wanted_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return _temporary_folder()


def _wanted_folder() -> Path:
    if own := os.environ.get("STEPPROF_CACHE"):
        return Path(own)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "stepprof"


@functools.cache
def _temporary_folder() -> Path:
    """A folder of this process, removed when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="stepprof-runs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _usable(run: Path) -> bool:
    """Whether the cache has this run, whole and of this version."""
    try:
        open_run(run).close()
    except InputError:
        return False
    return True


def _evict(folder: Path, keep: Path, limit: int) -> None:
    """Remove the runs longest unused until the rest fits; never `keep`."""
    room = limit - sum(size for _, size, _ in _sized(iter([keep])))
    others = (run for run in _sized(folder.glob("*.duckdb")) if run[2] != keep)
    for _, size, path in sorted(others, reverse=True):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)
    for used, _, path in _sized(folder.glob(".*.partial*")):
        if used < time.time() - ABANDONED_S:
            path.unlink(missing_ok=True)


def _sized(paths: Iterator[Path]) -> Iterator[tuple[float, int, Path]]:
    """(last use, bytes, path) of the files that are still there."""
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        yield status.st_mtime, status.st_size, path
