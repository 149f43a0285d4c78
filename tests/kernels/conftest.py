"""Kernels are tested on the CPU through Triton's interpreter, on a GPU compiled, always on poisoned memory.

Without torch, which only the extra [runtime] brings, there is nothing to test; without Triton, of the extra [gpu],
only the references. Ops this small get one thread.
"""

import os
from importlib.util import find_spec
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


# Triton reads this when a kernel is defined, so before any test module imports one
if find_spec("torch") and not _has_gpu():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """One process runs kernels interpreted or compiled, never both."""
    if "place" not in getattr(item, "fixturenames", ()):
        return
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not find_spec("triton"):
        pytest.skip("needs Triton, of the extra [gpu]")
    if item.get_closest_marker("gpu") is None and not interpreted:
        pytest.skip("kernels are compiled for the GPU here: set TRITON_INTERPRET=1 to interpret them")
    if item.get_closest_marker("gpu") is not None and not _has_gpu():
        pytest.skip("needs an NVIDIA GPU")
    if item.get_closest_marker("gpu") is not None and interpreted:
        pytest.skip("TRITON_INTERPRET=1 is set: unset it to test compiled kernels")


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """Restored afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.empty and torch.empty_like return NaN, or a number that is no result, so that a missing write shows."""
    import torch

    def poisoned(allocate: Any) -> Any:
        def allocate_and_fill(*arguments: Any, **options: Any) -> torch.Tensor:
            memory = allocate(*arguments, **options)
            if memory.dtype == torch.float8_e4m3fn:
                memory.view(torch.uint8).fill_(0x7F)  # its NaN
            elif memory.dtype.is_floating_point:
                memory.fill_(float("nan"))
            elif memory.dtype in (torch.int32, torch.int64):
                memory.fill_(-77_777_777)
            return memory

        return allocate_and_fill

    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, poisoned(getattr(torch, name)))
