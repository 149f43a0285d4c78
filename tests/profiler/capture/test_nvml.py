"""Samples of clocks and power where NVML is, silence where it is not."""

import pynvml
import pytest

from stepprof.profiler.capture import nvml


@pytest.fixture
def cards(monkeypatch):
    """Three cards of which one does not tell its power."""
    refuse = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def power(handle):
        if handle == 1:
            raise refuse
        return 350_000

    for name, function in {
        "nvmlInit": lambda: None, "nvmlShutdown": lambda: None, "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlDeviceGetCount": lambda: 3, "nvmlDeviceGetHandleByIndex": lambda i: i,
        "nvmlDeviceGetName": lambda h: f"Card {h}", "nvmlDeviceGetClockInfo": lambda h, kind: 1980 - h,
        "nvmlDeviceGetPowerUsage": power, "nvmlDeviceGetTemperature": lambda h, sensor: 40,
    }.items():  # fmt: skip
        monkeypatch.setattr(pynvml, name, function)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_samples(cards):
    with nvml.Sampler(period_s=0.001) as sampler:
        pass
    assert sampler.driver == "580.1"
    assert sampler.median("sm_clock_mhz") == {0: 1980, 1: 1979, 2: 1978}
    assert sampler.median("power_w") == {0: 350, 2: 350}


@pytest.mark.parametrize(("visible", "names"), [
    ("2,0", ["Card 2", "Card 0"]), ("GPU-abc", ["Card 0", "Card 1", "Card 2"]), ("7", ["Card 0", "Card 1", "Card 2"]),
])  # fmt: skip
def test_cards_are_numbered_as_cuda_shows_them(cards, monkeypatch, visible, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu.name for gpu in nvml.visible_gpus()] == names


def test_without_nvml_there_are_no_rows(monkeypatch):
    def absent():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", absent)
    with nvml.Sampler() as sampler:
        pass
    assert sampler.rows == [] and sampler.driver is None
