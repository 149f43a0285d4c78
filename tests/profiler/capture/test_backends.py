"""Which backend is picked on which machine for which program, and the sentence where none can record."""

from pathlib import Path

import pytest

from stepprof.profiler.capture import backends, nsys
from stepprof.profiler.capture.backends import choose
from stepprof.profiler.capture.builtin import Program
from stepprof.profiler.capture.machine import Machine
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.ingest.window import Window

MODEL, OTHER = Program(["python"], built_in=True), Program(["decode"])
GPU, CPU, NO_GPU, OLD = Machine(13000, 2), Machine(None, 0), Machine(13000, 0), Machine(11080, 1)


@pytest.fixture
def here(monkeypatch):
    """Say what the machine has: `here(cupti=True, collector=False, nsys=True)`."""

    def make(cupti: bool = True, collector: bool = True, with_nsys: bool = False) -> None:
        def build() -> Path:
            if not collector:
                raise InputError("no C++ compiler is found to build the collector: install g++.")
            return Path("c.so")

        def found() -> str:
            if not with_nsys:
                raise InputError("nsys is not found: install it.")
            return "nsys"

        monkeypatch.setattr(backends, "collector", build)
        monkeypatch.setattr(backends, "find_cupti", lambda _: Path("libcupti.so") if cupti else None)
        monkeypatch.setattr(nsys, "nsys_here", found)

    return make


@pytest.mark.parametrize(("program", "machine", "things", "expected", "why"), [
    (OTHER, GPU, {}, "cupti", "a GPU and CUPTI are here"),
    (MODEL, GPU, {}, "cupti", "a GPU and CUPTI are here"),
    (OTHER, GPU, {"cupti": False, "with_nsys": True}, "nsys", "no libcupti is found here, nsys is"),
    (OTHER, GPU, {"cupti": False}, "cupti", "the program may bring one"),
    (OTHER, GPU, {"collector": False, "with_nsys": True}, "nsys", "no C++ compiler is found"),
    (MODEL, GPU, {"collector": False}, "torch", "no C++ compiler is found"),
    (MODEL, CPU, {}, "torch", "no GPU is found (no NVIDIA driver is installed), so operators of the CPU stand in"),
    (MODEL, NO_GPU, {}, "torch", "the driver shows no GPU to this process"),
    (MODEL, OLD, {}, "torch", "the NVIDIA driver is too old (CUDA 11.8)"),
])  # fmt: skip
def test_auto_picks_and_says_why(here, program, machine, things, expected, why):
    here(**things)
    backend, reason = choose("auto", program, Window(), machine)
    assert backend == expected and why in reason


@pytest.mark.parametrize(("program", "machine", "sentence"), [
    (OTHER, CPU, r"no GPU is found .* --backend marks, or leave the command out"),
    (OTHER, NO_GPU, "no GPU is found"),
    (OTHER, OLD, r"the NVIDIA driver is too old \(CUDA 11.8\): .* CUDA 12.0 or newer"),
    (OTHER, GPU, "no C.. compiler is found"),
])  # fmt: skip
def test_auto_says_what_is_missing(here, program, machine, sentence):
    here(collector=False)
    with pytest.raises(InputError, match=sentence):
        choose("auto", program, Window(), machine)


@pytest.mark.parametrize("asked", ["cupti", "nsys"])
def test_a_backend_that_is_asked_for_needs_a_gpu_for_the_model_too(here, asked):
    here(with_nsys=True)
    assert choose(asked, MODEL, Window(), GPU)[0] == asked
    with pytest.raises(InputError, match="no GPU is found"):
        choose(asked, MODEL, Window(), CPU)


def test_marks_need_nothing(here):
    here(cupti=False, collector=False)
    assert choose("marks", OTHER, Window(), CPU)[0] == "marks"


def test_torch_is_for_the_built_in_model(here):
    here()
    assert choose("torch", MODEL, Window(steps="1:3"), GPU)[0] == "torch"
    with pytest.raises(
        UsageError, match=r"must be started inside a program: leave the command out, or .* stepprof import"
    ):
        choose("torch", OTHER, Window(), GPU)
    with pytest.raises(UsageError, match="--delay and --duration need --backend cupti or nsys"):
        choose("torch", MODEL, Window(delay_s=1), CPU)
