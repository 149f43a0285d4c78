"""A copy of a trace that can be shared: what tells about the machine and its user is left out, and listed.

    for line in scrub(Path("capture.sqlite"), Path("shared.sqlite")): print("removed", line)

An allow list decides: of an nsys export only the tables and columns that stepprof reads, of a Kineto trace
the known metadata, of a run file everything but what says who, where and with which arguments. Texts that are
kept (names of kernels and ranges) lose paths, addresses and ids. A name that is itself a secret stays: look.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.formats import KINETO_JSON, NSYS_CAPTURE, NSYS_REPORT, NSYS_SQLITE, RUN_FILE, opened
from stepprof.profiler.scrub_kineto import scrub_kineto
from stepprof.profiler.scrub_nsys import scrub_nsys
from stepprof.profiler.scrub_run import scrub_run

SCRUBBERS: dict[str, Callable[[Path, Path, Callable[[str], str]], list[str]]] = {
    NSYS_SQLITE: scrub_nsys, NSYS_REPORT: scrub_nsys, NSYS_CAPTURE: scrub_nsys,
    KINETO_JSON: scrub_kineto, RUN_FILE: scrub_run,
}  # fmt: skip
PATTERNS = (
    (re.compile(r"\b[\w.+-]+@[\w-]+(\.[\w-]+)+\b"), "<email>"),
    (re.compile(r"\b(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b(?:hf_|sk-|gh[pousr]_|glpat-)[\w-]{8,}"), "<secret>"),
    # a path loses its folders: two or more of them, and no template argument before
    (re.compile(r"(?<![\w>)*&:])(?:~|/[\w.@+-]+)(?:/[\w.@+-]+)*/(?=[\w.@+-])"), "<path>/"),
)


def scrub(trace: Path, out: Path, force: bool = False) -> list[str]:
    """Write the copy; one line for each thing removed. InputError where the trace cannot be scrubbed."""
    if out.exists() and (not force or (trace.exists() and out.samefile(trace))):
        raise InputError(f"{out} exists already: choose another -o" + (" or pass --force." if not force else "."))
    with opened(trace) as source:
        if source.format not in SCRUBBERS:
            raise InputError(f"{trace} cannot be scrubbed as it is: import it first, then scrub the run file.")
        beside = _beside(out)
        try:
            removed = SCRUBBERS[source.format](source.path, beside, clean_text)
            os.replace(beside, out)
        finally:
            beside.unlink(missing_ok=True)
    return removed


def clean_text(text: str) -> str:
    """A name without paths, addresses and ids."""
    for pattern, instead in PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _beside(out: Path) -> Path:
    """A fresh name, so that the copy appears whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent)
    except OSError as fault:
        raise InputError(f"{out} cannot be written ({fault.strerror}): choose another -o.") from None
    os.close(handle)
    os.unlink(name)
    return Path(name)
