"""Clocks, power and temperature of the GPUs, sampled by NVML while a program runs.

    with Sampler() as sampler: ...
    sampler.number_as({0: "uuid 5eed..."})      # the run's devices and their identities
    sampler.rows      # (time_ns, device, name, value), for table counter

Without NVML there are no rows and no fault. The same sampling runs beside the control, so that both
runs bear its cost. At first cards are numbered in the order of CUDA_VISIBLE_DEVICES, else in NVML's, which need not be
the program's: it may choose its cards itself. Once the records tell which cards ran, their UUIDs decide.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from types import TracebackType
from typing import Any

import pynvml

PERIOD_S = 0.2
Row = tuple[int, int, str, float]


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVML knows it; `device` is its number in the run, `uuid` as nvidia-smi shows it."""

    device: int
    name: str
    handle: Any
    uuid: str = ""

    @property
    def identities(self) -> set[str]:
        """How table device names it: nsys's records spell a UUID as NVML does, CUPTI's give its bytes."""
        spellings = (self.uuid, self.uuid.partition("-")[2].replace("-", ""))
        return {f"uuid {hashlib.md5(spelling.encode()).hexdigest()}" for spelling in spellings if spelling}


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

    def number_as(self, identities: Mapping[int, str | None]) -> None:
        """Number the samples as the run does, leave out cards that it does not use; all stay where none of its UUIDs is ours.

        `gpus` stays what programs started here see: a setting, which arms that use fewer of them have in common.
        """
        known = {text: device for device, text in identities.items() if text and text.startswith("uuid ")}
        numbers = {gpu.device: known[text] for gpu in self.gpus for text in gpu.identities & known.keys()}
        if not numbers:
            return
        self.rows = [(at, numbers[device], name, value) for at, device, name, value in self.rows if device in numbers]

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
    """GPUs that programs started here will see, in the order of CUDA_VISIBLE_DEVICES; as CUDA, up to a word that names none."""
    cards = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    uuids = [_uuid(card) for card in cards]
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    order = range(len(cards)) if listed is None else _order(listed.split(","), uuids)
    return [Gpu(i, _text(pynvml.nvmlDeviceGetName(cards[at])), cards[at], uuids[at]) for i, at in enumerate(order)]


def _order(words: list[str], uuids: list[str]) -> list[int]:
    """Which card each word names: a number, or a UUID or the beginning of one."""
    found = [_named(word.strip(), uuids) for word in words]
    return [at for at in takewhile(lambda at: at is not None, found) if at is not None]


def _named(word: str, uuids: list[str]) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) < len(uuids) else None
    uuid = _uuid_of_slice(word) if word.startswith("MIG-") else word
    fitting = [at for at, one in enumerate(uuids) if uuid and one.lower().startswith(uuid.lower())]
    return fitting[0] if len(fitting) == 1 else None


def _uuid_of_slice(word: str) -> str:
    """The card that a MIG slice is a part of, whose clocks and power are all there is."""
    try:
        part = pynvml.nvmlDeviceGetHandleByUUID(word.encode())
        return _uuid(pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part))
    except pynvml.NVMLError:
        return ""


def _uuid(card: Any) -> str:
    """Empty where the card does not tell."""
    try:
        return _text(pynvml.nvmlDeviceGetUUID(card))
    except pynvml.NVMLError:
        return ""


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
