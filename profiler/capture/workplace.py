"""A folder for records beside the run file while a capture runs; they are kept where the import fails.

with workplace(out, force, keep=False) as folder: ...
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from stepprof.profiler.capture.torch_profiler import TRACE
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.record_file import record_files

TRACED = "traced"  # where the traced run's records lie, so that no name of a run file is that of another thing here


@contextmanager
def workplace(out: Path, force: bool, keep: bool) -> Generator[Path]:
    """InputError or UsageError where the run file could not be written; the program has not run then."""
    if out.is_dir():
        raise UsageError(f"{out} is a folder: give the name of a file to -o.")
    if out.exists() and not force:
        raise InputError(f"{out} exists already: choose another -o or pass --force.")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".records", dir=out.parent))
    except OSError as fault:
        raise InputError(f"{out} cannot be written ({fault.strerror}): choose another -o.") from None
    try:
        folder.joinpath(TRACED).mkdir()
        yield folder
    except BaseException:
        _keep(folder, out)
        raise
    else:
        if keep:
            _keep(folder, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def say(line: str) -> None:
    """A line of ours on standard error, at once: the program's own output comes next."""
    sys.stderr.write(f"stepprof: {line}\n")
    sys.stderr.flush()


def _keep(folder: Path, out: Path) -> None:
    """The records of the traced run beside the run file, where there are any."""
    records, trace = folder / TRACED / out.stem, folder / TRACE
    if trace.is_file():
        _move(trace, out.with_name(f"{out.name}.json"), "Perfetto shows them")
    elif records.is_dir() and record_files(records):
        _move(records, out.with_name(f"{out.name}.records"), "stepprof import reads them")


def _move(records: Path, kept: Path, use: str) -> None:
    """Under the first free name: what an earlier capture kept stays."""
    names = (kept, *(kept.with_name(f"{kept.name}-{number}") for number in range(2, 1000)))
    free = next((name for name in names if not name.exists()), None)
    if free is None:
        say(f"the records are not kept: {kept} and 998 more are taken; remove old ones")
        return
    records.rename(free)
    say(f"the records are kept in {free}; {use}")
