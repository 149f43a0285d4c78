"""Samples of clocks and power where NVML is, silence where it is not."""

import hashlib
import os
import subprocess
import sys

import duckdb
import pynvml
import pytest

from stepprof.profiler.capture import nvml
from tests.profiler.capture.recorded import identities

UUIDS = ["GPU-01000000-0000-0000-0000-000000000000", "GPU-0aaa0000-0000-0000-0000-000000000000",
         "GPU-02000000-0000-0000-0000-000000000000"]  # fmt: skip
SLICE = "MIG-77777777-0000-0000-0000-000000000000"  # of the third card


@pytest.fixture
def cards(monkeypatch):
    """Three cards of which one does not tell its power."""
    refuse = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def power(handle):
        if handle == 1:
            raise refuse
        return 350_000

    def by_uuid(word):
        if word != SLICE.encode():
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return "a slice"

    for name, function in {
        "nvmlInit": lambda: None, "nvmlShutdown": lambda: None, "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlDeviceGetCount": lambda: 3, "nvmlDeviceGetHandleByIndex": lambda i: i,
        "nvmlDeviceGetUUID": lambda h: UUIDS[h].encode(), "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda h: {"a slice": 2}[h],
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
    ("2,0", ["Card 2", "Card 0"]), (" 1 , 2", ["Card 1", "Card 2"]), (UUIDS[2], ["Card 2"]), ("GPU-02,gpu-0A", ["Card 2", "Card 1"]),
    (f"{SLICE},0", ["Card 2", "Card 0"]), ("MIG-other", []), ("GPU-0", []), ("1,7,0", ["Card 1"]), ("-1", []), ("", []),
])  # fmt: skip
def test_cards_are_numbered_as_cuda_shows_them(cards, monkeypatch, visible, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu.name for gpu in nvml.visible_gpus()] == names


def md5(text):
    return f"uuid {hashlib.md5(text.encode()).hexdigest()}"


@pytest.mark.parametrize("spelling", [str, lambda uuid: uuid.removeprefix("GPU-").replace("-", "")])
def test_cards_are_numbered_as_the_records_name_them(cards, spelling):
    """A program may choose its cards itself, and order them as it likes."""
    with nvml.Sampler(period_s=0.001) as sampler:
        pass
    sampler.number_as({0: md5(spelling(UUIDS[2])), 1: md5(spelling(UUIDS[0]))})
    assert sampler.median("sm_clock_mhz") == {0: 1978, 1: 1980}, "and none of the card that did not run"
    assert [gpu.name for gpu in sampler.gpus] == ["Card 0", "Card 1", "Card 2"], "a setting, not what was used"


@pytest.mark.parametrize("known", [{}, {0: None, 1: None}, {0: "ordinal 0"}, {0: "uuid of no card here"}])
def test_cards_keep_their_order_where_the_records_tell_no_uuid_of_theirs(cards, known):
    with nvml.Sampler(period_s=0.001) as sampler:
        pass
    sampler.number_as(known)
    assert sampler.median("sm_clock_mhz") == {0: 1980, 1: 1979, 2: 1978}


def test_the_collector_names_cards_alike(machine, tmp_path, imported):
    """The faked CUPTI gives its cards UUIDs of 01 and 02."""
    machine.run(tmp_path / "out")
    gpus = [nvml.Gpu(5, "", None, f"GPU-{n:02}000000-0000-0000-0000-000000000000") for n in (2, 1)]
    told = identities(imported(tmp_path / "out"))
    assert [told[1] in gpus[0].identities, told[0] in gpus[1].identities] == [True, True]


FAKED_NVML = """
class NVMLError(Exception): pass
NVML_CLOCK_SM = NVML_CLOCK_MEM = NVML_TEMPERATURE_GPU = 0
def __getattr__(name):
    def ask(card=None, *more):
        if not name.startswith("nvmlDeviceGet") or name == "nvmlDeviceGetHandleByIndex": return card or 0
        answers = {"Count": 3, "UUID": f"GPU-0{3 - (card or 0)}000000-0000-0000-0000-000000000000", "Name": "Card", "ClockInfo": card}
        if (what := name.removeprefix("nvmlDeviceGet")) in answers: return answers[what]
        raise NVMLError(name)
    return ask
"""


def test_a_capture_keeps_the_clocks_of_the_cards_that_ran(machine, tmp_path):
    """NVML's cards have the UUIDs 03, 02, 01; the program ran on 01 and 02 as its 0 and 1."""
    (tmp_path / "faked").mkdir()
    (tmp_path / "faked/pynvml.py").write_text(FAKED_NVML)
    env = machine.environment(tmp_path / "unused") | {
        "STEPPROF_COLLECTOR": str(machine.collector), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path / "faked"), *sys.path]),
    }  # fmt: skip
    stepprof = [sys.executable, "-c", "from stepprof.profiler.cli import main; main()"]
    words = ["capture", "--no-control", "-o", str(tmp_path / "r.duckdb"), "--", machine.program]
    subprocess.run([*stepprof, *words], env=env, check=True, capture_output=True, timeout=60)
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        found = con.execute(
            "SELECT DISTINCT device, value FROM counter WHERE name = 'sm_clock_mhz' ORDER BY 1"
        ).fetchall()
        assert found == [(0, 2), (1, 1)]
        assert con.execute("SELECT value FROM manifest WHERE key = 'sm_clock_mhz'").fetchone() == ("2 1",)


def test_without_nvml_there_are_no_rows(monkeypatch):
    def absent():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", absent)
    with nvml.Sampler() as sampler:
        pass
    assert sampler.rows == [] and sampler.driver is None
