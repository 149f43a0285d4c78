"""On GPUs: a captured step says what the eager one says, on one card and on two, and its truth is complete."""

import os
import signal
import time
from typing import Any

import pytest
import torch

from stepprof.runtime.config import TINY
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import SidecarError
from stepprof.runtime.options import Options
from stepprof.runtime.sidecar_modes.call import CallSidecar
from stepprof.runtime.truth import Truth
from tests.runtime.engines import PROMPT, decode, generate

CARDS = torch.cuda.device_count() if torch.cuda.is_available() else 0
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(CARDS == 0, reason="no GPU")]
two_cards = pytest.mark.skipif(CARDS < 2, reason="one GPU")
ONE: dict[str, Any] = {"device": "cuda:0", "sidecar_device": "cuda:0"}
TWO: dict[str, Any] = {"device": "cuda:0", "sidecar_device": "cuda:1"}
COUNT = 24
SWITCHES: list[dict[str, Any]] = [
    {},
    {"share_topk": True},
    {"fuse": ("boundary",)},
    {"fuse": ("moe_front",)},
    {"fuse": ("attn",)},
    {"mhc_stream": True},
    {"batch": 32, "k": 2},
    {"k": 0},
    {"pads": {"router": 20.0, "sidecar_gemm": 20.0}},
]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("cards", [ONE, pytest.param(TWO, marks=two_cards)], ids=["one", "two"])
def test_a_captured_step_says_what_the_eager_one_says(cards: dict[str, Any], switches: dict[str, Any]):
    options: dict[str, Any] = {"k": 3, **switches, **cards}
    assert generate(COUNT, **options) == generate(COUNT, graphs=False, **options)


def test_a_timed_replay_says_how_long_the_gpu_took():
    with Engine.make(TINY, Options(k=3, **ONE)) as made:
        made.runner.timed = True
        made.add(PROMPT)
        assert made.runner.gpu_ns is None
        start = time.perf_counter_ns()
        made.step()
        assert made.runner.gpu_ns is not None and 0 < made.runner.gpu_ns < time.perf_counter_ns() - start


@pytest.mark.parametrize("sampling", ["token", "block"])
def test_sampled_steps_can_be_captured(sampling: str):
    options: dict[str, Any] = {"k": 3, "sampling": sampling, **ONE}
    assert generate(COUNT, **options) == generate(COUNT, graphs=False, **options)


@two_cards
@pytest.mark.parametrize("link", ["peer", "host"])
@pytest.mark.parametrize("mode", ["graph", "call", "persistent"])
@pytest.mark.parametrize("graphs", [False, True], ids=["eager", "captured"])
def test_every_way_to_the_second_card_gives_the_same_tokens(mode: str, link: str, graphs: bool):
    if mode == "persistent" and link == "host":
        pytest.skip("a resident kernel needs peer access")
    options: dict[str, Any] = {"k": 3, "sidecar_mode": mode, "link": link, "graphs": graphs}
    assert generate(COUNT, **options, **TWO) == generate(COUNT, k=3, **ONE)


@pytest.mark.parametrize("cards", [ONE, pytest.param(TWO, marks=two_cards)], ids=["one", "two"])
def test_truth_names_every_node_of_the_graph(cards: dict[str, Any]):
    truth = Truth()
    with Engine.make(TINY, Options(k=3, **cards), truth=truth) as made:
        decode(made, made.add(PROMPT), 4)
    claimed = [node for op in truth.ops for node in op.nodes]
    named = [kind for kind in truth.node_types.values() if kind in ("kernel", "memcpy", "memset")]
    assert len(claimed) == len(set(claimed)) >= 0.99 * len(named)
    assert {op.device for op in truth.ops if op.role == "sidecar_gemm"} == {cards["sidecar_device"]}
    # one graph, in order of creation, with nothing left alone
    assert all(a < b for a, b in truth.edges)
    assert {node for edge in truth.edges for node in edge} == set(truth.node_types)


@two_cards
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP], ids=str)
def test_a_dead_sidecar_fails_the_step_in_time(blow: signal.Signals):
    made = Engine.make(TINY, Options(k=3, sidecar_mode="call", limit_ms=1500.0, **TWO))
    sidecar = made.runner.sidecar
    assert isinstance(sidecar, CallSidecar) and sidecar.process.pid
    try:
        slot = made.add(PROMPT)
        decode(made, slot, 4)
        os.kill(sidecar.process.pid, blow)
        start = time.monotonic()
        with pytest.raises(SidecarError):
            decode(made, slot, 100)
        assert time.monotonic() - start < 10
    finally:
        made.close()
    assert sidecar.process.exitcode is not None
