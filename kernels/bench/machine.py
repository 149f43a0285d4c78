"""What a bench runs on: told first where that is the CPU, and which of the backends asked for run there.

warnings = on_cpu([device], "times")                                                  # none on GPUs
backends, warnings = runnable(asked, ("triton", "reference"), device, "reference")    # the last runs on the CPU
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import torch

from stepprof.kernels.bench.blocks import say
from stepprof.kernels.bench.file import BenchFault, BenchUsage

T = TypeVar("T", bound=str)
Warnings = list[dict[str, Any]]


def on_cpu(devices: Sequence[torch.device], what: str) -> Warnings:
    """Where a device is the CPU: that `what` is told (times, answers) means nothing for a GPU."""
    cpus = [device for device in devices if device.type != "cuda"]
    if not cpus:
        return []
    where = "this is the CPU" if len(cpus) == len(devices) else "one of the two devices is the CPU"
    return _told("cpu", 1, f"{where}: its {what} say nothing about a GPU.")


def runnable(
    asked: Sequence[T], known: Sequence[T], device: torch.device, plain: str
) -> tuple[tuple[T, ...], Warnings]:
    """Those that run on this device (the CPU has only `plain`), and warnings of the device and of those that do not.

    BenchUsage where a name is unknown or twice, BenchFault where none runs.
    """
    if wrong := [name for name in asked if name not in known]:
        raise BenchUsage(f"no backend '{wrong[0]}'; there are {', '.join(known)}.")
    if not asked or len(set(asked)) < len(asked):
        raise BenchUsage(f"--backends {','.join(asked)}: name some of {', '.join(known)}, each once.")
    if device.type == "cuda":
        return tuple(asked), []
    here, left = tuple(name for name in asked if name == plain), [name for name in asked if name != plain]
    if not here:
        raise BenchFault(f"--backends {','.join(asked)}: none of them runs on the CPU, where only {plain} does.")
    text = f"backends left out, as they do not run on the CPU: {', '.join(left)}."
    return here, on_cpu([device], "times") + (_told("backend_left_out", len(left), text) if left else [])


def _told(code: str, count: int, text: str) -> Warnings:
    """The warning as a bench file keeps it, said at once as well."""
    say(f"warning: {text}")
    return [{"code": code, "count": count, "text": text}]
