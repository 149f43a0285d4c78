"""Clocks, power and temperature of the GPUs, sampled by NVML while a program runs.

    with Sampler() as sampler: ...
    sampler.rows      # (time_ns, device, name, value), for table counter

Without NVML there are no rows and no fault. The same sampling runs beside the control, so that both
runs bear its cost. Numbers of devices are NVML's, mapped by CUDA_VISIBLE_DEVICES where it lists numbers.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pynvml

PERIOD_S = 0.2
Row = tuple[int, int, str, float]


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVML knows it; `device` is its number in the run."""

    device: int
    name: str
    handle: Any


@dataclass
class Sampler:
    """Samples from entering to leaving the block."""

    period_s: float = PERIOD_S
    rows: list[Row] = field(default_factory=list[Row])
    gpus: list[Gpu] = field(default_factory=list[Gpu])
    driver: str | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Sampler:
        try:
            pynvml.nvmlInit()
            self.driver = _text(pynvml.nvmlSystemGetDriverVersion())
            self.gpus = visible_gpus()
        except pynvml.NVMLError:
            return self
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            pynvml.nvmlShutdown()

    def median(self, name: str) -> dict[int, float]:
        """The middle value of a counter by device."""
        values: dict[int, list[float]] = {}
        for _, device, counter, value in self.rows:
            if counter == name:
                values.setdefault(device, []).append(value)
        return {device: sorted(found)[len(found) // 2] for device, found in values.items()}

    def _sample(self) -> None:
        while True:
            for gpu in self.gpus:
                now = time.time_ns()
                self.rows += [(now, gpu.device, name, value) for name, value in _readings(gpu.handle)]
            if self._stop.wait(self.period_s):
                return


def visible_gpus() -> list[Gpu]:
    """GPUs that programs started here will see, in CUDA's order where the environment says it by numbers."""
    count = pynvml.nvmlDeviceGetCount()
    listed = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    order = [int(word) for word in listed if word.isdecimal() and int(word) < count]
    if not listed or len(order) != len(listed):
        order = list(range(count))
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in order]
    return [Gpu(i, _text(pynvml.nvmlDeviceGetName(handle)), handle) for i, handle in enumerate(handles)]


def _readings(handle: Any) -> list[tuple[str, float]]:
    """What this GPU tells; what it does not is left out."""
    asks = (
        ("sm_clock_mhz", lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        ("memory_clock_mhz", lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
        ("power_w", lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        ("temperature_c", lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
    )
    found: list[tuple[str, float]] = []
    for name, ask in asks:
        try:
            found.append((name, float(ask())))
        except pynvml.NVMLError:
            continue
    return found


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
