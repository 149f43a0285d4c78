"""Launches and graphs through a driver that only remembers what it was asked."""

import ctypes
from typing import Any

import pytest

from stepprof.kernels import driver
from stepprof.kernels.driver import DriverFault, Graph, Launch, Pointer


class FakeDriver:
    """Keeps (name, what matters of the arguments); `answers` by name are error codes."""

    def __init__(self, **answers: int) -> None:
        self.asked: list[Any] = []
        self.answers = answers

    def __getattr__(self, name: str):
        def call(*arguments: Any) -> int:
            self.asked.append(name)
            if name == "cuLaunchKernelEx":
                config, _, parameters, _ = arguments
                value = ctypes.c_int.from_address(parameters[0]).value
                self.asked[-1] = (name, config._obj.stream, config._obj.count, list(config._obj.grid), value)
            if name == "cuGraphGetEdges_v2":
                _, _, _, data, count = arguments
                data[2], data[10], count._obj.value = 1, 0, 2  # types of the first two edges
            return self.answers.get(name, 0)

        return call


@pytest.fixture
def fake(monkeypatch):
    made = FakeDriver(cuCtxSynchronize=700)
    monkeypatch.setattr(driver, "_library", lambda: made)
    return made


def test_a_launch_takes_its_arguments_as_they_are_then(fake):
    number = ctypes.c_int(3)
    launch = Launch(Pointer(1), 7, 32, (number,))
    launch(11)
    number.value = 4
    launch(12, programmatic=True)
    assert fake.asked == [("cuLaunchKernelEx", 11, 0, [7, 1, 1], 3), ("cuLaunchKernelEx", 12, 1, [7, 1, 1], 4)]
    attribute = launch.config.attributes[0]
    assert (attribute.id, attribute.value) == (6, 1)


def test_a_graph_is_captured_from_what_is_enqueued(fake):
    graph = Graph(5, lambda: fake.asked.append("work"))
    graph.replay(5)
    assert graph.edges(16) == (2, 1)
    graph.close()
    assert fake.asked == [
        "cuStreamBeginCapture_v2", "work", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
        "cuGraphGetEdges_v2", "cuGraphExecDestroy", "cuGraphDestroy",
    ]  # fmt: skip


def test_a_capture_is_ended_where_its_work_fails(fake):
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Graph(5, fails)
    assert fake.asked == ["cuStreamBeginCapture_v2", "cuStreamEndCapture"]


def test_a_fault_names_the_call_and_its_number(fake):
    with pytest.raises(DriverFault, match="cuCtxSynchronize failed with CUDA error 700"):
        driver.call("cuCtxSynchronize")
