"""The audit on a faked /sys: what it reads, and that it says what it could not see."""

import struct
from pathlib import Path

import pynvml
import pytest

from stepprof.profiler.audit import audit, audit_document

GPU = "0000:3b:00.0"


@pytest.fixture
def root(tmp_path) -> Path:
    """A host with one GPU behind a bridge."""
    bridge = tmp_path / "sys/devices/pci0000:3a/0000:3a:00.0"
    gpu = bridge / GPU
    gpu.mkdir(parents=True)
    for name, text in {
        "vendor": "0x10de\n", "class": "0x030200\n", "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8",
        "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "numa_node": "1", "config": "",
        "resource": "0x1000 0x1fff 0x40200\n0x2000000000 0x3fffffffff 0x14220c\n",
    }.items():  # fmt: skip
        (gpu / name).write_text(text)
    (bridge / "class").write_text("0x060400")
    (bridge / "config").write_bytes(bytes(0x100) + struct.pack("<IHH", 0x0000_000D, 0, 0x0C) + bytes(0xEF8))
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices" / GPU).symlink_to(gpu)
    group = tmp_path / "sys/kernel/iommu_groups/7"
    group.mkdir(parents=True)
    (group / "type").write_text("DMA\n")
    (gpu / "iommu_group").symlink_to(group)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("root=/dev/sda1 amd_iommu=on iommu=nopt quiet")
    policy = tmp_path / "sys/module/pcie_aspm/parameters"
    policy.mkdir(parents=True)
    (policy / "policy").write_text("[default] performance powersave")
    return tmp_path


@pytest.fixture(autouse=True)
def no_nvml(monkeypatch):
    def absent():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", absent)


def test_values(root):
    found = {fact.name: fact.value for fact in audit(root)}
    assert found["iommu"] == "1 groups, types DMA (1)"
    assert found["iommu_options"] == "amd_iommu=on iommu=nopt"
    assert found["aspm"] == "default"
    assert found["pcie_link"] == "16.0 GT/s PCIe x8 (possible 32.0 GT/s PCIe x16)"
    assert found["bar1"] == "131072 MiB, not resizable here"
    assert found["iommu_group"] == "group 7, DMA"
    assert found["acs"] == "redirecting"


def test_what_could_not_be_seen_is_told(root):
    document = audit_document(audit(root))
    unseen = {fact["name"]: fact["why"] for fact in document["not_seen"]}
    assert unseen["hmm"] == "could not be seen: No such file or directory"
    assert unseen["cpu_governor"] == "could not be seen: the kernel shows none here"
    assert "driver" in unseen
    assert all(fact["source"] and fact["meaning"] for fact in document["facts"])


def test_acs_needs_root(root):
    (root / "sys/devices/pci0000:3a/0000:3a:00.0/config").write_bytes(bytes(64))
    (acs,) = [fact for fact in audit(root) if fact.name == "acs"]
    assert acs.value is None and "root only" in acs.meaning


@pytest.mark.parametrize(("flags", "value"), [("fpu sse", "off (no groups)"), ("fpu hypervisor sse", None)])
def test_a_virtual_machine_does_not_show_the_iommu_of_its_host(tmp_path, flags, value):
    (tmp_path / "sys/kernel/iommu_groups").mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n\n")
    (iommu,) = [fact for fact in audit(tmp_path) if fact.name == "iommu"]
    assert iommu.value == value
    assert value or iommu.meaning.endswith(
        "this is a virtual machine, and the IOMMU of its host does not show from here"
    )


def test_a_card_in_a_virtual_machine_tells_no_group_of_its_host(root):
    (root / "sys/devices/pci0000:3a/0000:3a:00.0" / GPU / "iommu_group").unlink()
    assert [fact.value for fact in audit(root) if fact.name == "iommu_group"] == ["none"]
    (root / "proc/cpuinfo").write_text("flags\t\t: fpu hypervisor\n")
    assert [fact.value for fact in audit(root) if fact.name == "iommu_group"] == [None]


def test_an_empty_host(tmp_path):
    document = audit_document(audit(tmp_path))
    assert {"gpus", "iommu"} <= {fact["name"] for fact in document["not_seen"]}, "no folder says that it is off"


def test_this_host():
    assert audit()
