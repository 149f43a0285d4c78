"""Copies and sidecar calls in a step, counted."""

import pytest

from stepprof.analyses.sidecar.crossings import crossings
from stepprof.profiler.errors import Refused
from tests.trace_builder import TraceBuilder


def test_copies_by_way_and_calls_by_layer():
    """Two steps; in the first two cross-card copies (one told only by its cards) inside a call, in the second one up."""
    t = TraceBuilder().range("step/0", 0, 100).range("sidecar/3", 1, 40).range("sidecar/4", 41, 60)
    t.memcpy("Peer-to-Peer", 10, 20, call=(2, 3), bytes=100)
    t.kernel("gemm", 21, 25, call=(4, 5))
    t.memcpy("Device-to-Device", 30, 35, call=(6, 7), bytes=50, src_device=1, dst_device=0)
    t.kernel("gemm", 50, 55, call=(42, 43))
    t.memcpy("Device-to-Device", 60, 65, call=(61, 62), bytes=7, src_device=0, dst_device=0)
    t.range("step/1", 200, 300)
    t.memcpy("Host-to-Device", 210, 220, call=(201, 202), bytes=8)
    t.memcpy("Device-to-Host", 400, 410, call=(390, 391), bytes=8)  # in no step
    found = crossings(t.store())
    assert (found.steps, found.calls) == (2, 1.0)
    assert found.copies == {"host_to_card": 0.5, "card_to_host": 0.0, "card_to_card": 1.0}
    assert found.bytes == {"host_to_card": 4.0, "card_to_host": 0.0, "card_to_card": 75.0}
    assert found.step_us == pytest.approx(0.1) and found.inflation is None
    assert crossings(t.add("manifest", key="tracing_inflation", value="1.25").store()).inflation is not None


def test_a_trace_without_steps_is_refused():
    with pytest.raises(Refused):
        crossings(TraceBuilder().kernel("gemm", 0, 5, call=(0, 1)).store())
