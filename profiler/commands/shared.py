"""What commands share: the options that several take, how a trace is opened, how an answer is printed.

with opened(trace) as store: ...      # a run file, or any trace file through the cache
attributed(store, question)           # its account, with a sign of life where that takes a while
print_json(document)                  # one JSON document on standard output
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import duckdb
import typer

from stepprof.analyses.attribution import Attribution, Question, attribute
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.cache import cached_run
from stepprof.profiler.ingest.importer import Extras
from stepprof.profiler.report import document
from stepprof.profiler.report.progress import working
from stepprof.profiler.store import Store, open_run

Trace = Annotated[Path, typer.Argument(help="A run file (.duckdb) or a trace that import reads.")]
Marker = Annotated[str | None, typer.Option(help="Regular expression of the ranges that mark steps.")]
Method = Annotated[
    Literal["launches", "period"] | None, typer.Option(help="Find steps without marks, by this method only.")
]
Rules = Annotated[
    Path | None, typer.Option(help="TOML file with your own role, kind, range, marker and resident rules.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
StepNumber = Annotated[int | None, typer.Option(help="Only the step with this index.")]
StepSlice = Annotated[str | None, typer.Option(help="Only steps A:B, B not included.")]


@contextmanager
def opened(trace: Path) -> Generator[Store]:
    """A run, or a trace imported into the cache; InputError where it cannot be read."""
    with working(f"reading {trace.name}"):
        run = cached_run(trace, Extras())
    store = open_run(run)
    try:
        yield store
    except duckdb.Error as fault:  # a bad block shows only once it is read
        what = str(fault).splitlines()[0][:160]
        raise InputError(f"{store.path} is damaged ({what}): remove it and import the trace again.") from None
    finally:
        store.close()


def absent(path: Path, force: bool, option: str) -> None:
    """InputError where a file to be written is there already and may not be replaced."""
    if path.exists() and not force:
        raise InputError(f"{path} exists already: choose another {option} or pass --force.")


def attributed(store: Store, question: Question | None = None) -> Attribution:
    """The run accounted for, with a sign of life; Refused where the trace cannot answer."""
    with working(f"accounting for the steps of {source_of(store)}"):
        return attribute(store, question)


def source_of(store: Store) -> str:
    """The name of the trace, for headings and sentences."""
    return store.fact("source") or store.path.name


def print_json(answer: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(document.as_json(answer) + "\n")
