"""The nsys programs installed here: found on PATH and in the folders of the CUDA toolkit; run with a time limit.

for nsys in find_nsys(): said = ran([str(nsys), "export", …])
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

LIMIT_S = 1800
# toolkits link bin/nsys, the tool's own packages and the copy within nsight-compute do not
NSYS_PLACES = (
    "usr/local/cuda*/bin/nsys",
    "usr/local/bin/nsys",
    "opt/nvidia/nsight-systems*/*/bin/nsys",
    "opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
    "opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
)
IMPORTER_PLACES = (
    "opt/nvidia/nsight-systems*/*/host-linux-*/QdstrmImporter",
    "opt/nvidia/nsight-compute/*/host/linux-desktop-*/QdstrmImporter",
    "usr/lib/nsight-systems/*/QdstrmImporter",
)
ROOT = Path("/")
NUMBER = re.compile(r"\d+")


def find_nsys() -> list[Path]:
    """Every nsys here: the one on PATH, then the newest first."""
    return list(_found("nsys", NSYS_PLACES))


def find_importer() -> Path | None:
    """nsys' QdstrmImporter: on PATH, beside an nsys, or in an installed folder."""
    beside = (nsys.resolve().parent.parent for nsys in find_nsys())
    near = (file for root in beside for file in root.glob("host-linux-*/QdstrmImporter") if _runs(file))
    return next(chain(_found("QdstrmImporter", ()), near, _found("QdstrmImporter", IMPORTER_PLACES)), None)


def ran(command: list[str]) -> str:
    """Run a program to its end and return the last line it printed, whatever its exit code."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as fault:
        return fault.strerror or "it cannot be run"
    try:
        printed, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"stopped after {LIMIT_S} s"
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)  # what it started too
        process.wait()
    lines = [line.strip() for line in printed.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:160] if lines else f"exit code {process.returncode}"


def _found(name: str, places: tuple[str, ...]) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    for place in places:
        yield from sorted(filter(_runs, ROOT.glob(place)), key=_version, reverse=True)


def _runs(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def _version(file: Path) -> list[int]:
    return [int(number) for number in NUMBER.findall(str(file))]
