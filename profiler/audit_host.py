"""What the kernel tells about PCIe, IOMMU, memory and processor: the part of the audit that needs no driver."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from stepprof.profiler.audit_fact import Fact, fact_of

NVIDIA = "0x10de"
DISPLAY = ("0x0300", "0x0302")  # VGA and 3D controllers; a card's audio and USB functions are not GPUs
ACS = 0x000D  # PCIe extended capability
ACS_REDIRECT = 0x0C  # request and completion redirect


def facts(root: Path) -> Iterator[Fact]:
    """Facts of the host, then of each GPU on its PCIe bus."""
    yield from _host(root)
    gpus = gpu_folders(root)
    if not gpus:
        yield Fact("gpus", None, "/sys/bus/pci/devices", "no NVIDIA GPU is on the PCIe bus that this system shows")
    for folder in gpus:
        yield from _gpu(root, folder)


def gpu_folders(root: Path) -> list[Path]:
    """PCI devices that are NVIDIA GPUs, by address."""
    devices = root / "sys/bus/pci/devices"
    found: list[Path] = []
    for folder in sorted(devices.iterdir()) if devices.is_dir() else []:
        try:
            if _text(folder / "vendor") == NVIDIA and _text(folder / "class").startswith(DISPLAY):
                found.append(folder)
        except OSError:
            continue
    return found


def _host(root: Path) -> Iterator[Fact]:
    yield fact_of(
        "iommu", "/sys/kernel/iommu_groups", "a translating IOMMU (type DMA) slows small copies between cards and host; "
        "identity (iommu=pt) does not", lambda: _iommu(root),
    )  # fmt: skip
    yield fact_of(
        "iommu_options", "/proc/cmdline", "what the kernel was told about the IOMMU",
        lambda: " ".join(w for w in _text(root / "proc/cmdline").split() if "iommu" in w) or "none",
    )  # fmt: skip
    yield fact_of(
        "aspm", "/sys/module/pcie_aspm/parameters/policy", "powersave policies add microseconds to a copy after idling",
        lambda: _chosen(_text(root / "sys/module/pcie_aspm/parameters/policy")),
    )  # fmt: skip
    yield fact_of(
        "hmm", "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "HMM lets kernels touch host memory by page faults",
        lambda: "off" if _text(root / "sys/module/nvidia_uvm/parameters/uvm_disable_hmm") in ("Y", "1") else "on",
    )  # fmt: skip
    yield fact_of(
        "cpu_governor", "/sys/devices/system/cpu/*/cpufreq", "anything but performance makes launches slower and uneven",
        lambda: _counted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")),
    )  # fmt: skip
    yield fact_of(
        "numa_nodes", "/sys/devices/system/node", "the launching thread should run on the GPU's node",
        lambda: str(len(list(root.glob("sys/devices/system/node/node[0-9]*"))) or 1),
    )  # fmt: skip


def _gpu(root: Path, folder: Path) -> Iterator[Fact]:
    gpu, at = folder.name, f"/sys/bus/pci/devices/{folder.name}"
    yield fact_of(
        "pcie_link", at, "an idle GPU may show a lower speed than under load; less width than possible halves copies",
        lambda: _link(folder), gpu,
    )  # fmt: skip
    yield fact_of("gpu_numa_node", at, "-1: the firmware does not say", lambda: _text(folder / "numa_node"), gpu)
    yield fact_of(
        "bar1", f"{at}/resource", "peer access without NVLink maps the other card's memory through this window",
        lambda: _bar1(folder), gpu,
    )  # fmt: skip
    yield fact_of(
        "iommu_group",
        f"{at}/iommu_group",
        "type of address translation for this card",
        lambda: _group(root, folder),
        gpu,
    )
    yield fact_of(
        "acs",
        "PCIe bridges above the GPU",
        "redirect sends peer copies up through the root complex",
        lambda: _acs(folder),
        gpu,
    )


def _iommu(root: Path) -> str:
    groups = root / "sys/kernel/iommu_groups"
    count = len(list(groups.iterdir()))
    if count == 0:
        _check_host(root)
        return "off (no groups)"
    return f"{count} groups, types {_counted(groups.glob('*/type'))}"


def _check_host(root: Path) -> None:
    """ValueError in a virtual machine, which shows no IOMMU whatever its host has."""
    cpu = root / "proc/cpuinfo"
    if cpu.exists() and re.search(r"^flags\s*:.*\bhypervisor\b", _text(cpu), re.MULTILINE):
        raise ValueError("this is a virtual machine, and the IOMMU of its host does not show from here")


def _group(root: Path, folder: Path) -> str:
    link = folder / "iommu_group"
    if not link.exists():
        _check_host(root)
        return "none"
    kind = root / "sys/kernel/iommu_groups" / link.resolve().name / "type"
    return f"group {link.resolve().name}" + (f", {_text(kind)}" if kind.exists() else "")


def _link(folder: Path) -> str:
    now = f"{_text(folder / 'current_link_speed')} x{_text(folder / 'current_link_width')}"
    return f"{now} (possible {_text(folder / 'max_link_speed')} x{_text(folder / 'max_link_width')})"


def _bar1(folder: Path) -> str:
    """Size of the GPU's memory window: the largest prefetchable region."""
    sizes: list[int] = []
    for line in _text(folder / "resource").splitlines()[:6]:
        start, end, flags = (int(word, 16) for word in line.split())
        if end > start and flags & 0x2000:
            sizes.append(end - start + 1)
    if not sizes:
        raise ValueError("no prefetchable region is listed")
    resizable = "resizable" if (folder / "resource1_resize").exists() else "not resizable here"
    return f"{max(sizes) >> 20} MiB, {resizable}"


def _acs(folder: Path) -> str:
    """Whether a bridge above redirects peer traffic."""
    bridges = [
        parent for parent in folder.resolve().parents if (parent / "config").exists() and (parent / "class").exists()
    ]
    if not bridges:
        raise ValueError("no bridge above it is shown")
    states = [_acs_control((bridge / "config").read_bytes()) for bridge in bridges]
    return "redirecting" if any(state and state & ACS_REDIRECT for state in states) else "not redirecting"


def _acs_control(config: bytes) -> int | None:
    """The ACS control register in a device's configuration space."""
    if len(config) <= 256:
        raise ValueError("the extended configuration space is shown to root only")
    at = 0x100
    for _ in range(64):
        (header,) = struct.unpack_from("<I", config, at)
        if header & 0xFFFF == ACS:
            return struct.unpack_from("<H", config, at + 6)[0]
        at = header >> 20
        if at < 0x100 or at + 8 > len(config):
            return None
    return None


def _chosen(policy: str) -> str:
    """`default [performance] powersave` -> performance."""
    return policy.partition("[")[2].partition("]")[0] or policy


def _counted(files: Iterator[Path]) -> str:
    counts = Counter(_text(file) for file in files)
    if not counts:
        raise ValueError("the kernel shows none here")
    return ", ".join(f"{value} ({count})" for value, count in counts.most_common())


def _text(path: Path) -> str:
    return path.read_text().strip()
