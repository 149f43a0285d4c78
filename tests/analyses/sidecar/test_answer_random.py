"""Whatever runs on two or three cards, the answer adds up or is a refusal."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepprof.analyses.sidecar.answer import sidecar
from stepprof.analyses.sidecar.phases import PIECE_KINDS
from stepprof.profiler.errors import Refused
from tests.analyses.sidecar.sidecar_program import Program, calls_of

PATHS = [
    (), (), ("layer/1/router",), ("layer/1/accumulate",), ("sidecar/1 rows=2", "sidecar/1/copy_in"), ("sidecar/1/up",),
    ("sidecar/2 rows=0 experts=0",), ("sidecar/2/copy_out",), ("sidecar.wait",), ("sidecar/1/wait",), ("sidecar.gemm",),
    ("sidecar/3/publish",),
]  # fmt: skip
NAMES = ["a", "w_gemm", "void spin_wait_kernel(int*)", "direct_copy_kernel_cuda"]
ops = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(PATHS), st.integers(0, 40), st.integers(0, 9), st.sampled_from([0, 0, 1, 2]),
    st.sampled_from([None, None, (0, 1), (1, 0), (0, 2)]),
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> Program:
    p = Program(edges=draw(st.booleans()))
    for n in range(draw(st.integers(1, 3))):
        p.step(n, draw(st.integers(10, 80)))
        for name, path, start, length, card, way in draw(st.lists(ops, min_size=1, max_size=14)):
            after = [draw(st.integers(1, p.nodes))] if p.nodes and draw(st.booleans()) else []
            if way is None:
                p.op(name, start, start + length, *path, device=card, after=after)
            else:
                where = {"device": way[0], "src_device": way[0], "dst_device": way[1]}
                p.op("", start, start + length, *path, way="Peer-to-Peer", after=after, **where)
        if draw(st.booleans()):
            p.trace.call_fact(n, draw(st.integers(1, 3)), rows=draw(st.integers(0, 3)), skipped=draw(st.booleans()))
    for layer, seen, length in draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60), st.integers(0, 9)))):
        at = p.start + seen
        p.trace.add("resident_call", round=1, layer=layer, rows=1, seen_ns=at, gated_ns=None, answered_ns=at + length)
    return p


@given(programs())
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_calls_add_up(p):
    try:
        store, found = p.found()
        calls, joins, pieces = calls_of(store, found)
        answer = sidecar(store, found)
    except Refused:
        return
    total = np.zeros(len(calls), dtype=np.int64)
    np.add.at(total, pieces.call, pieces.ns)
    assert (total == pieces.length).all() and (pieces.ns > 0).all()
    assert (pieces.length >= calls.done - calls.start).all() and (joins.wait >= 0).all()
    assert answer.calls == len(calls) == len(answer.table) == sum(group.calls for group in answer.per_rows)
    for group in answer.per_rows:
        assert sum(group.phases_mean_us.values()) == pytest.approx(group.mean_us)
        assert set(group.kinds_mean_us) <= set(PIECE_KINDS)
        assert sum(group.parts_mean_us.values()) == pytest.approx(group.mean_us)
        for phase, kinds in group.phase_kinds_mean_us.items():
            assert sum(kinds.values()) == pytest.approx(group.phases_mean_us[phase])
    waited = sum(step.join_wait_ns for step in answer.by_step)
    assert waited == sum(call.counted_wait_ns for call in answer.table) <= int(joins.wait.sum())
    for parts in (answer.by_layer, answer.per_rows, [answer.all]):
        assert sum(part.join_wait_us_per_step for part in parts) * 1e3 * answer.steps == pytest.approx(waited)
    assert len(np.unique(calls.stretches.op[calls.stretches.op >= 0])) == (calls.stretches.op >= 0).sum()
