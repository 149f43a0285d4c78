"""What this machine offers to a capture: GPUs, the driver's CUDA version, libcupti.

The driver is asked in a process of its own, so that ours never holds a CUDA context.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stepprof.profiler.capture.build import toolkits, wheel_roots
from stepprof.profiler.errors import InputError

OLDEST_DRIVER = 12000
ASK = """
import ctypes, json
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    print(json.dumps([None, 0]))
else:
    version, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    if cuda.cuInit(0) == 0:
        cuda.cuDeviceGetCount(ctypes.byref(count))
    print(json.dumps([version.value, count.value]))
"""


@dataclass(frozen=True)
class Machine:
    """CUDA as programs here will find it; `driver` is None without a driver."""

    driver: int | None
    gpus: int

    @property
    def cuda(self) -> str:
        """The CUDA version of the driver in words."""
        return "none" if self.driver is None else f"{self.driver // 1000}.{self.driver % 1000 // 10}"


def this_machine() -> Machine:
    """Ask the driver; a driver that crashes counts as none."""
    asked = subprocess.run([sys.executable, "-I", "-c", ASK], capture_output=True, text=True, check=False)
    try:
        driver, gpus = json.loads(asked.stdout)
    except ValueError:
        return Machine(None, 0)
    return Machine(driver, gpus)


def gpu_fault(machine: Machine) -> str | None:
    """Why no GPU op can be recorded here; None where it can."""
    if machine.driver is None:
        return "no GPU is found (no NVIDIA driver is installed)"
    if machine.driver < OLDEST_DRIVER:
        return f"the NVIDIA driver is too old (CUDA {machine.cuda})"
    return None if machine.gpus else "no GPU is found (the driver shows no GPU to this process)"


def check_gpu(machine: Machine) -> None:
    """InputError where no GPU op can be recorded here."""
    fault = gpu_fault(machine)
    if fault is None:
        return
    if machine.driver is not None and machine.driver < OLDEST_DRIVER:
        raise InputError(f"{fault}: stepprof capture needs one for CUDA 12.0 or newer.")
    raise InputError(
        f"{fault}: run on a GPU machine, record the ranges alone with --backend marks, or leave the command out "
        "to record the built-in model on the CPU."
    )


def find_cupti(machine: Machine) -> Path | None:
    """A libcupti that fits the driver, for programs that load none themselves."""
    newest = (machine.driver or 0) // 1000
    for major in range(newest, 11, -1):
        for folder in _library_folders():
            if (found := folder / f"libcupti.so.{major}").is_file():
                return found
    return None


def _library_folders() -> Iterator[Path]:
    for root in wheel_roots():
        yield from (root / "cu13/lib", root / "cuda_cupti/lib")
    for root in toolkits():
        yield from (root / "extras/CUPTI/lib64", root / "lib64", root / "lib")
