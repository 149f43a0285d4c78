"""A copy of a trace that can be shared: what tells about the machine and its user is left out, and listed.

    for line in scrub(Path("capture.sqlite"), Path("shared.sqlite")): print("removed", line)

An allow list decides: of an nsys export only the tables and columns that stepprof reads, of a Kineto trace
the known metadata and arguments, of a run file the known facts. Processes and threads are numbered anew. Texts
that are kept (names of kernels and ranges) lose paths, users, machines, addresses, ids and secrets
(scrub_text.py). A name that is a secret of its own stays: look.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.formats import KINETO_JSON, NSYS_CAPTURE, NSYS_REPORT, NSYS_SQLITE, RUN_FILE, opened
from stepprof.profiler.scrub_kineto import scrub_kineto
from stepprof.profiler.scrub_nsys import scrub_nsys
from stepprof.profiler.scrub_run import scrub_run
from stepprof.profiler.scrub_text import TextCleaner

SCRUBBERS: dict[str, Callable[[Path, Path, TextCleaner], list[str]]] = {
    NSYS_SQLITE: scrub_nsys, NSYS_REPORT: scrub_nsys, NSYS_CAPTURE: scrub_nsys,
    KINETO_JSON: scrub_kineto, RUN_FILE: scrub_run,
}  # fmt: skip


def scrub(trace: Path, out: Path, force: bool = False) -> list[str]:
    """Write the copy, gzip where its name ends in .gz; one line for each thing removed.

    InputError where the trace cannot be scrubbed or the copy cannot be written; then there is none.
    """
    if out.exists() and (not force or (trace.exists() and out.samefile(trace))):
        raise InputError(f"{out} exists already: choose another -o" + (" or pass --force." if not force else "."))
    with opened(trace) as source:
        if source.format not in SCRUBBERS:
            raise InputError(f"{trace} cannot be scrubbed as it is: import it first, then scrub the run file.")
        clean = TextCleaner()
        return [*_written(SCRUBBERS[source.format], source.path, trace, out, clean), *clean.told]


def _written(
    scrubber: Callable[[Path, Path, TextCleaner], list[str]], source: Path, trace: Path, out: Path, clean: TextCleaner
) -> list[str]:
    """What was removed; faults name the files of the user."""
    beside = _beside(out)
    try:
        removed = scrubber(source, beside, clean)
        _put(beside, out)
    except OSError as fault:
        raise InputError(f"{out} cannot be written ({fault.strerror}): free space or choose another -o.") from None
    except InputError as fault:
        raise InputError(str(fault).replace(str(beside), str(out)).replace(str(source), str(trace))) from None
    finally:
        beside.unlink(missing_ok=True)
    return removed


def _put(beside: Path, out: Path) -> None:
    """Move the finished copy to its place."""
    if out.suffix != ".gz":
        os.replace(beside, out)
        return
    packed = _beside(out)
    try:
        with beside.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
            shutil.copyfileobj(plain, file)
        os.replace(packed, out)
    finally:
        packed.unlink(missing_ok=True)


def _beside(out: Path) -> Path:
    """A fresh name, so that the copy appears whole or not at all; DuckDB writes it into the file, so it says nothing."""
    try:
        handle, name = tempfile.mkstemp(prefix=".stepprof-", suffix=".partial", dir=out.parent)
    except OSError as fault:
        raise InputError(f"{out} cannot be written ({fault.strerror}): choose another -o.") from None
    os.close(handle)
    os.unlink(name)
    return Path(name)
