"""The CUDA driver by ctypes: launches with programmatic dependence, graphs captured from them, kinds of their edges.

    launch = Launch(kernel.func, grid=1, block=32, arguments=(Pointer(x.data_ptr()), ctypes.c_int(3)))
    launch(stream.cuda_stream, programmatic=True)

torch launches cannot carry the attribute of programmatic dependent launch (PDL), and its graphs do not tell their
edges. Handles are those of torch's context, which is current once torch has used the card.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

Pointer = ctypes.c_void_p
PROGRAMMATIC_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
PROGRAMMATIC_EDGE = 1  # CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class DriverFault(RuntimeError):
    """A call of the driver failed."""


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: the value is a union of 64 bytes, of which an int is used here."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("value", ctypes.c_int),
        ("rest", ctypes.c_char * 60),
    )


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", Pointer),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", ctypes.c_uint),
    )


class Launch:
    """A kernel with its arguments; these may be changed in place between launches (`argument.value = 3`)."""

    def __init__(self, function: Any, grid: int, block: int, arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments
        self.attribute = LaunchAttribute(id=PROGRAMMATIC_SERIALIZATION, value=1)
        self.config = LaunchConfig(
            grid=(grid, 1, 1), block=(block, 1, 1), attributes=ctypes.pointer(self.attribute), count=0
        )
        self.parameters = (Pointer * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])

    def __call__(self, stream: int, programmatic: bool = False) -> None:
        """Launch on a raw stream; `programmatic` lets it start before its predecessor there has ended."""
        self.config.stream, self.config.count = stream, int(programmatic)
        call("cuLaunchKernelEx", ctypes.byref(self.config), self.function, self.parameters, None)


class Graph:
    """What `enqueue` launches on `stream` (and on streams forked from it and joined again), ready to be replayed."""

    def __init__(self, stream: int, enqueue: Callable[[], None]) -> None:
        graph, self.executable = Pointer(), Pointer()
        call("cuStreamBeginCapture_v2", Pointer(stream), RELAXED)
        try:
            enqueue()
        finally:
            call("cuStreamEndCapture", Pointer(stream), ctypes.byref(graph))
        self.graph = graph
        call("cuGraphInstantiateWithFlags", ctypes.byref(self.executable), graph, ctypes.c_ulonglong(0))

    def replay(self, stream: int) -> None:
        """Launch it on a raw stream."""
        call("cuGraphLaunch", self.executable, Pointer(stream))

    def edges(self, most: int) -> tuple[int, int]:
        """(all edges, programmatic ones); `most` bounds their number."""
        sources, targets = (Pointer * most)(), (Pointer * most)()
        data = (ctypes.c_uint8 * (8 * most))()  # CUgraphEdgeData: from_port, to_port, type, 5 reserved
        count = ctypes.c_size_t(most)
        call("cuGraphGetEdges_v2", self.graph, sources, targets, data, ctypes.byref(count))
        kinds = list(data)[2::8][: count.value]
        return count.value, sum(kind == PROGRAMMATIC_EDGE for kind in kinds)

    def close(self) -> None:
        """Free it; no replay may be under way."""
        call("cuGraphExecDestroy", self.executable)
        call("cuGraphDestroy", self.graph)


def call(name: str, *arguments: Any) -> None:
    """Call the driver; DriverFault where it says no."""
    code = getattr(_library(), name)(*arguments)
    if code:
        raise DriverFault(f"{name} failed with CUDA error {code}.")


@cache
def _library() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as fault:
        raise DriverFault(f"the CUDA driver library cannot be loaded ({fault}): install the driver.") from None
