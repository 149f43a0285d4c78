"""What the CUDA driver says about a graph while it is captured, without torch and without CUPTI.

view = CaptureView(stream)        # a raw stream handle
view.nodes(), view.edges(), view.node_type(node)
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from stepprof.runtime.errors import RuntimeFault

NODE_TYPES = ("kernel", "memcpy", "memset", "host", "graph", "empty", "wait_event", "event_record")
Handle = ctypes.c_void_p


class CaptureView:
    """The graph that a capturing stream builds."""

    def __init__(self, stream: int) -> None:
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), Handle()
        parts = (ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), None, None)
        _call("cuStreamGetCaptureInfo_v2", Handle(stream), *parts)
        if status.value != 1:
            raise RuntimeFault("the truth of a graph can only be read while the graph is captured.")
        self.graph = graph

    def nodes(self) -> list[int]:
        """Handles of all nodes so far."""
        count = ctypes.c_size_t()
        _call("cuGraphGetNodes", self.graph, None, ctypes.byref(count))
        if not count.value:  # the driver refuses to fill an empty list
            return []
        handles = (Handle * count.value)()
        _call("cuGraphGetNodes", self.graph, handles, ctypes.byref(count))
        return [handle for handle in handles if handle]

    def edges(self) -> list[tuple[int, int]]:
        """(from, to) handles of all edges so far."""
        count = ctypes.c_size_t()
        _call("cuGraphGetEdges_v2", self.graph, None, None, None, ctypes.byref(count))
        if not count.value:
            return []
        sources, targets = (Handle * count.value)(), (Handle * count.value)()
        data = (ctypes.c_uint8 * (8 * count.value))()  # CUgraphEdgeData is 8 bytes
        _call("cuGraphGetEdges_v2", self.graph, sources, targets, data, ctypes.byref(count))
        return [(a, b) for a, b in zip(sources, targets, strict=True) if a and b]

    def node_type(self, node: int) -> str:
        """The kind of a node."""
        number = ctypes.c_int()
        _call("cuGraphNodeGetType", Handle(node), ctypes.byref(number))
        return NODE_TYPES[number.value] if number.value < len(NODE_TYPES) else f"type {number.value}"


@cache
def _library() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as fault:
        raise RuntimeFault(f"the CUDA driver library cannot be loaded ({fault}): install the driver.") from None


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_library(), name)(*arguments)
    if code:
        raise RuntimeFault(f"{name} failed with CUDA error {code}.")
