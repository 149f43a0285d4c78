"""What the driver tells through NVML: the part of the audit that concerns the GPUs' own state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pynvml

from stepprof.profiler.audit_fact import Fact

READ_INDEX = 0  # NVML_P2P_CAPS_INDEX_READ; pynvml's own constant is a tuple by mistake
SOURCE = "NVML"
P2P = {0: "yes", 1: "chipset does not support it", 2: "not supported by the GPUs", 3: "the topology forbids it",
       4: "disabled by a registry key", 5: "not supported"}  # fmt: skip
LINKS = 18


def facts() -> Iterator[Fact]:
    """Facts of the driver and of each GPU; one that says why where NVML does not answer."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as fault:
        yield Fact("driver", None, SOURCE, f"could not be seen: {fault}")
        return
    try:
        yield _read("driver", "versions decide which features of CUDA graphs exist", _driver)
        count = pynvml.nvmlDeviceGetCount()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        for index, handle in enumerate(handles):
            yield from _gpu(str(index), handle)
        for a in range(count):
            for b in range(count):
                if a != b:
                    yield _peer(a, b, handles[a], handles[b])
    finally:
        pynvml.nvmlShutdown()


def _gpu(gpu: str, handle: Any) -> Iterator[Fact]:
    asks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("name", "product", lambda: _text(pynvml.nvmlDeviceGetName(handle))),
        ("pcie_generation", "now, and what card and slot can do", lambda: _generation(handle)),
        ("bar1_total", "size of the memory window", lambda: f"{int(pynvml.nvmlDeviceGetBAR1MemoryInfo(handle).bar1Total) >> 20} MiB"),
        ("nvlink", "links up: peer copies and reads go over them", lambda: _nvlink(handle)),
        ("persistence", "off: the driver starts anew with each first program", lambda: _switch(pynvml.nvmlDeviceGetPersistenceMode(handle))),
        ("sm_clock", "now, and the most it can do; compare runs at one clock", lambda: _clock(handle, pynvml.NVML_CLOCK_SM)),
        ("memory_clock", "now, and the most it can do", lambda: _clock(handle, pynvml.NVML_CLOCK_MEM)),
        ("power_cap", "at the cap the clocks fall", lambda: _power(handle)),
        ("ecc", "on costs a little memory bandwidth", lambda: _switch(pynvml.nvmlDeviceGetEccMode(handle)[0])),
        ("mig", "a slice of a GPU has a slice of its bandwidth", lambda: _switch(pynvml.nvmlDeviceGetMigMode(handle)[0])),
    )  # fmt: skip
    for name, meaning, ask in asks:
        yield _read(name, meaning, ask, gpu)


def _read(name: str, meaning: str, ask: Callable[[], str], gpu: str | None = None) -> Fact:
    try:
        return Fact(name, ask(), SOURCE, meaning, gpu)
    except pynvml.NVMLError as fault:
        return Fact(name, None, SOURCE, f"could not be seen: {fault}", gpu)


def _peer(a: int, b: int, first: Any, second: Any) -> Fact:
    """Whether card a reads card b's memory."""
    meaning = "without peer access a sidecar call is staged through host memory"
    ask = lambda: P2P.get(pynvml.nvmlDeviceGetP2PStatus(first, second, READ_INDEX), "unknown")  # noqa: E731
    return _read(f"peer_access_{a}_{b}", meaning, ask, str(a))


def _driver() -> str:
    cuda = pynvml.nvmlSystemGetCudaDriverVersion()
    return f"{_text(pynvml.nvmlSystemGetDriverVersion())}, CUDA {cuda // 1000}.{cuda % 1000 // 10}"


def _generation(handle: Any) -> str:
    now, most = pynvml.nvmlDeviceGetCurrPcieLinkGeneration(handle), pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
    width, widest = pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle), pynvml.nvmlDeviceGetMaxPcieLinkWidth(handle)
    return f"{now} x{width} (possible {most} x{widest})"


def _nvlink(handle: Any) -> str:
    up = 0
    for link in range(LINKS):
        try:
            up += pynvml.nvmlDeviceGetNvLinkState(handle, link)
        except pynvml.NVMLError:
            break
    return f"{up} links up"


def _clock(handle: Any, kind: int) -> str:
    return (
        f"{pynvml.nvmlDeviceGetClockInfo(handle, kind)} MHz (most {pynvml.nvmlDeviceGetMaxClockInfo(handle, kind)} MHz)"
    )


def _power(handle: Any) -> str:
    now, cap = pynvml.nvmlDeviceGetPowerUsage(handle), pynvml.nvmlDeviceGetEnforcedPowerLimit(handle)
    return f"{cap / 1000:.0f} W (now {now / 1000:.0f} W)"


def _switch(value: int) -> str:
    return "on" if value else "off"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
