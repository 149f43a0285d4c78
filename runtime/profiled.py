"""`--profile FILE`: the counted steps under torch.profiler, exported as a Chrome trace (Kineto JSON).

    with Profiled(path) as profile:
        profile.start()         # before the first counted step; once
        ...
    # the trace is written when the context ends without a fault, or by Ctrl-C

Marks become ranges of the trace with STEPPROF_MARKS=torch. On a machine without a GPU only operators of the CPU
are on record, which `stepprof capture --backend torch` takes as stand-ins for GPU ops and says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

import torch
from torch.profiler import ProfilerActivity, profile

from stepprof.runtime.errors import RuntimeFault


class Profiled:
    """A recording that begins with `start` and is written at the end of the context."""

    def __init__(self, path: Path) -> None:
        activities = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * torch.cuda.is_available()]
        self.path, self.profile, self.started = path, profile(activities=activities), False

    def start(self) -> None:
        """Begin to record, the first time it is called."""
        if not self.started:
            self.started = True
            self.profile.start()

    def __enter__(self) -> Profiled:
        _check_writable(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.started:
            self.profile.stop()
            if kind is None or issubclass(kind, KeyboardInterrupt):
                self._write()

    def _write(self) -> None:
        """Whole or not at all; RuntimeFault where the disk takes no more, which Kineto only logs."""
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.profile.export_chrome_trace(str(partial))
            os.replace(partial, self.path)
        except (OSError, RuntimeError):
            raise RuntimeFault(f"{self.path} took no more of the trace: free space, or count fewer --steps.") from None
        finally:
            for leftover in (partial, partial.with_name(f"{partial.name}.tmp")):
                leftover.unlink(missing_ok=True)


def _check_writable(path: Path) -> None:
    """Told before the steps run, not after."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise RuntimeFault(f"{path} cannot be written (no folder that takes files): check --profile.")
