"""An nsys report (.nsys-rep) or unfinished capture (.qdstrm) -> a temporary SQLite export, by the nsys installed here.

    with exported(report, shown=report, capture=False) as sqlite: ...

The report itself is a private format. Whether the conversion worked is told by its output
file: nsys exits with 0 without output and with other codes beside a good one.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.nsys_tools import find_importer, find_nsys, ran

REPORT_MAGIC = b"NVIDIA Tegra Profiler Report "  # then the version, for example 2025@3@1@90-253135822126v0.
CAPTURE_MAGIC = b"NVIDIA Nsight Systems Stream "  # at byte 8, then the version
SQLITE_MAGIC = b"SQLite format 3\x00"
VERSION = re.compile(rb"(?:Report|Stream) (\d+)[@.](\d+)[@.](\d+)")


@contextmanager
def exported(path: Path, shown: Path, capture: bool) -> Generator[Path]:
    """The SQLite export of a report or capture, for the time of the block; `shown` is the name in messages."""
    with tempfile.TemporaryDirectory(prefix="stepprof-nsys-") as folder:
        report = Path(folder, "trace.qdstrm" if capture else "trace.nsys-rep")
        report.symlink_to(path.absolute())  # nsys judges by the suffix, and a name may begin with a dash
        if capture:
            report = _imported(report, shown)
        yield _export(report, shown)


def _imported(capture: Path, shown: Path) -> Path:
    """The report that nsys' importer makes from a capture."""
    importer = find_importer()
    if importer is None:
        raise InputError(
            f"{shown} is an nsys capture that was never imported, and no QdstrmImporter is installed here: "
            f"run {_importer_command(shown)} where nsys is."
        )
    report = capture.with_suffix(".nsys-rep")
    said = ran([str(importer), "-i", str(capture), "-o", str(report)])
    if not _begins_with(report, REPORT_MAGIC):
        raise InputError(
            f"{shown} could not be imported by {importer} ({said}): run {_importer_command(shown)} "
            f"with the nsys that recorded it{_version(capture)}."
        )
    return report


def _export(report: Path, shown: Path) -> Path:
    """The export of a report by the first nsys here that can read it."""
    tools = find_nsys()
    if not tools:
        raise InputError(
            f"{shown} is an nsys report and no nsys is installed here: run {_export_command(shown)} "
            "where nsys is and give the .sqlite."
        )
    said = ""
    for number, nsys in enumerate(tools):
        sqlite = report.with_name(f"trace{number}.sqlite")
        said = ran([str(nsys), "export", "-t", "sqlite", "-o", str(sqlite), str(report)])
        if _begins_with(sqlite, SQLITE_MAGIC):
            return sqlite
    raise InputError(
        f"{shown} could not be exported by {tools[-1]} ({said}): run {_export_command(shown)} "
        f"with the nsys that recorded it{_version(report)} or a newer one, and give the .sqlite."
    )


def _export_command(shown: Path) -> str:
    stem = shown.name.removesuffix(".gz").removesuffix(".qdstrm").removesuffix(".nsys-rep")
    return shlex.join(["nsys", "export", "-t", "sqlite", "-o", f"{stem}.sqlite", f"{stem}.nsys-rep"])


def _importer_command(shown: Path) -> str:
    stem = shown.name.removesuffix(".gz").removesuffix(".qdstrm")
    importer = shlex.join(["QdstrmImporter", "-i", f"{stem}.qdstrm", "-o", f"{stem}.nsys-rep"])
    return f"{importer} and then {_export_command(shown)}"


def _version(report: Path) -> str:
    with report.open("rb") as file:
        found = VERSION.search(file.read(96))
    return f" ({b'.'.join(found.groups()).decode()})" if found else ""


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False
