"""How a chain is enqueued: on a driver and streams that only remember."""

import ctypes
from typing import Any

import pytest
import torch

from stepprof.kernels import driver
from stepprof.kernels.bench.nodes import chain as module
from stepprof.kernels.bench.nodes.chain import Card, Chain, Shape


class Line:
    """All that was asked, in order; kernels by the name of their handle."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __getattr__(self, name: str):
        def call(*arguments: Any) -> int:
            if name == "cuLaunchKernelEx":
                config, function, parameters, _ = arguments
                words = [HANDLES[function.value], config._obj.stream, config._obj.count]
                if words[0].endswith("_node"):
                    words += [ctypes.c_int.from_address(parameters[place]).value for place in (3, 4, 5)]
                self.asked.append(tuple(words))
            else:
                self.asked.append(name)
            return 0

        return call


class FakeStream:
    made = 0

    def __init__(self, device) -> None:
        FakeStream.made += 1
        self.cuda_stream = FakeStream.made

    def wait_stream(self, other) -> None:
        LINE[0].asked.append((self.cuda_stream, "waits for", other.cuda_stream))


class FakeEvent:
    held = True

    def __init__(self, enable_timing) -> None: ...

    def record(self, stream) -> None:
        LINE[0].asked.append("event")

    def query(self) -> bool:
        return not FakeEvent.held

    def synchronize(self) -> None: ...

    def elapsed_time(self, other) -> float:
        return 0.5


class FakeKernel:
    def __init__(self, name: str) -> None:
        number = len(HANDLES) + 1
        HANDLES[number] = name
        self.func = ctypes.c_void_p(number)


LINE: list[Line] = []
HANDLES: dict[int | None, str] = {}


@pytest.fixture
def line(monkeypatch) -> Line:
    LINE[:] = [Line()]
    FakeStream.made = 0
    monkeypatch.setattr(driver, "_library", lambda: LINE[0])
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(module, "_built", lambda device, name, programmatic, stamps: FakeKernel(name))
    return LINE[0]


def made(shape: Shape, stamps: bool = False) -> Chain:
    card = Card(torch.device("cpu"))
    return Chain(card, shape, card.kernel(f"{shape.kernel}_node"), card.kernel("empty_node"), stamps)


def test_a_stream_is_queued_behind_the_hold(line):
    chain = made(Shape("small", "stream", 1, 2, 3))
    assert chain.run() == 500
    node = "small_node"
    assert line.asked == [
        ("hold", 1, 0), "event", ("empty_node", 1, 0, 0, 3, 0), (node, 1, 0, 0, 3, 0), (node, 1, 0, 1, 3, 3), "event",
    ]  # fmt: skip


def test_branches_fork_from_the_root_and_join(line):
    made(Shape("empty", "graph_pdl", 2, 2, 1))
    node = "empty_node"
    assert line.asked == [
        "cuStreamBeginCapture_v2",
        (node, 1, 0, 0, 1, 0),
        (2, "waits for", 1),
        (node, 1, 0, 0, 1, 0), (node, 2, 0, 0, 1, 0),  # the first of a branch: a full edge from the root
        (node, 1, 1, 1, 1, 1), (node, 2, 1, 1, 1, 1),
        (1, "waits for", 2),
        "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
    ]  # fmt: skip


def test_a_graph_is_replayed_behind_the_hold_and_stamps_have_their_place(line):
    chain = made(Shape("gemv", "graph", 4, 3, 1), stamps=True)
    assert tuple(chain.stamps().shape) == (4, 3, 512, 2)
    addresses = [launch.arguments[2].value for launch in chain.launches]
    assert [address - addresses[0] for address in addresses] == [branch * 3 * 512 * 2 * 8 for branch in range(4)]
    line.asked.clear()
    chain.run()
    assert line.asked == [("hold", 1, 0), "event", "cuGraphLaunch", "event"]
    chain.close()
    assert line.asked[-2:] == ["cuGraphExecDestroy", "cuGraphDestroy"]


def test_a_hold_that_was_too_short_is_longer_next_time(line, monkeypatch):
    chain = made(Shape("empty", "stream", 1, 1, 1))
    answers = iter([True, True, False])
    monkeypatch.setattr(FakeEvent, "query", lambda self: next(answers))
    chain.run()
    assert chain.card.hold_ns == {chain.shape: 1_200_000}
    assert chain.card.hold.arguments[0].value == 1_200_000
