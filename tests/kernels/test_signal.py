"""Flags. What needs two sides at once runs on the GPU: one stream waits, another signals."""

import time

import pytest
import torch

from stepprof.kernels import pad as pad_op
from stepprof.kernels import signal as op
from tests.kernels.cases import Place, Size, cases

ONE = pytest.mark.parametrize(("place", "size"), cases([{"N": 1}], dtypes=["float32"]))
ON_GPU = pytest.mark.parametrize(
    "place", [pytest.param(Place("cuda", torch.float32), id="cuda", marks=pytest.mark.gpu)]
)


def number(place: Place, value: int) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.int32, device=place.device)


@ONE
def test_bump_and_signal(place: Place, size: Size):
    flag, round_ = number(place, 0), number(place, 4)
    op.bump(round_, backend="triton")
    op.signal(flag, round_, backend="triton")
    assert (flag.item(), round_.item()) == (5, 5)


@ONE
@pytest.mark.parametrize(
    ("flag", "fault", "held", "fault_after"),
    [(5, 0, None, 0), (6, 0, 1, 0), (4, 0, None, 9), (4, 0, 1, 9), (4, 0, 0, 0), (4, 3, None, 3)],
    ids=["raised", "raised-later", "late", "late-held", "nothing-held", "fault-before"],
)
def test_wait(place: Place, size: Size, flag: int, fault: int, held: int | None, fault_after: int):
    """Only a flag below the round, with something held and no earlier fault, costs the limit and sets the fault."""
    given = number(place, fault)
    box = None if held is None else number(place, held)
    op.wait(number(place, flag), number(place, 5), given, code=9, limit_us=200, held=box, backend="triton")
    assert given.item() == fault_after


@ON_GPU
def test_one_stream_waits_for_another(place: Place):
    """The flag lies in pinned host memory; what was written before it is there after the wait."""
    flag, round_, fault = torch.zeros(1, dtype=torch.int32).pin_memory(), number(place, 1), number(place, 0)
    data, seen = number(place, 0), number(place, 0)
    op.signal(flag, number(place, 0), backend="triton")  # compiled before anybody waits
    op.wait(flag, number(place, 0), fault, code=9, limit_us=5_000_000, backend="triton")
    torch.cuda.synchronize()
    waiting, signalling = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(waiting):
        op.wait(flag, round_, fault, code=9, limit_us=5_000_000, backend="triton")
        seen.copy_(data)
    with torch.cuda.stream(signalling):
        data.fill_(42)
        op.signal(flag, round_, backend="triton")
    torch.cuda.synchronize()
    assert (flag.item(), fault.item(), seen.item()) == (1, 0, 42)


@ON_GPU
def test_the_host_wakes_a_waiting_card(place: Place):
    flag, fault = torch.zeros(1, dtype=torch.int32).pin_memory(), number(place, 0)
    op.wait(flag, number(place, 0), fault, code=9, limit_us=5_000_000, backend="triton")
    torch.cuda.synchronize()
    op.wait(flag, number(place, 1), fault, code=9, limit_us=5_000_000, backend="triton")
    time.sleep(0.01)
    flag.fill_(1)
    torch.cuda.synchronize()
    assert fault.item() == 0


@ON_GPU
@pytest.mark.parametrize("microseconds", [100.0, 500.0])
def test_pad_takes_its_time(place: Place, microseconds: float):
    """Within 5 µs for the clock's steps and 5 µs for start-up and drain, which no launch hides from the next."""
    x, events = place.normal(1), [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    pad_op.pad(x, microseconds, backend="triton")
    torch.cuda.synchronize()
    events[0].record()
    for _ in range(20):
        pad_op.pad(x, microseconds, backend="triton")
    events[1].record()
    torch.cuda.synchronize()
    taken = events[0].elapsed_time(events[1]) * 1000 / 20
    assert microseconds <= taken <= microseconds + 10
