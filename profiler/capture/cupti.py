"""The cupti backend: the collector loaded into the program, its record files kept in a folder.

recording = record(sitting, command, "ops", folder, window, machine)
recording.code, recording.folder
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stepprof.profiler.capture.build import collector
from stepprof.profiler.capture.machine import Machine, find_cupti
from stepprof.profiler.capture.program import Sitting
from stepprof.profiler.errors import InputError
from stepprof.profiler.ingest.record_file import record_files
from stepprof.profiler.ingest.window import Window

Mode = Literal["ops", "marks"]


@dataclass(frozen=True)
class Recording:
    """What a backend leaves: the program's exit code and the trace to import."""

    code: int
    trace: Path

    @property
    def made(self) -> bool:
        """Whether there is anything to import."""
        return self.trace.is_file() or bool(self.trace.is_dir() and record_files(self.trace))


def record(
    sitting: Sitting,
    command: list[str],
    mode: Mode,
    folder: Path,
    window: Window,
    machine: Machine | None,
    quiet: bool = False,
) -> Recording:
    """Run the program with the collector loaded; InputError where the disk took no more."""
    folder.mkdir(exist_ok=True)
    if mode == "ops":
        window.save(folder)
    code = sitting.run(command, _environment(mode, folder, window, machine), quiet)
    _check_disk(folder)
    return Recording(code, folder)


def _environment(mode: Mode, folder: Path, window: Window, machine: Machine | None) -> dict[str, str]:
    library = str(collector())
    added = {"STEPPROF_OUT": str(folder.absolute()), "STEPPROF_MODE": mode, "NVTX_INJECTION64_PATH": library}
    if mode == "ops":
        added |= {"CUDA_INJECTION64_PATH": library} | window.environment
        if machine is not None and "STEPPROF_CUPTI" not in os.environ and (cupti := find_cupti(machine)):
            added["STEPPROF_CUPTI"] = str(cupti)
    return added


def _check_disk(folder: Path) -> None:
    """The collector leaves an empty file that names the fault where it could not write."""
    for path in folder.glob("*.failed.*"):
        number = int(re.sub(r"\D", "", path.suffix) or 0)
        reason = os.strerror(number)
        raise InputError(
            f"{folder.parent} took no more records ({reason}), so the recording is not whole: "
            "free space, choose another -o, or record fewer steps."
        )
