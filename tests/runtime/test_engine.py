"""Speculative decoding gives what plain decoding gives, whatever the switches."""

from dataclasses import replace
from typing import Any

import pytest

from stepprof.runtime.config import TINY
from stepprof.runtime.errors import RequestError
from stepprof.runtime.options import MAX_K
from tests.runtime.engines import PROMPT, decode, engine, generate, oracle

COUNT = 40


@pytest.fixture(scope="module")
def plain() -> list[int]:
    """Plain greedy decoding."""
    return generate(COUNT + MAX_K, k=0)


@pytest.mark.parametrize("k", [1, 2, 5, 7])
def test_greedy_speculation_equals_plain_greedy(k: int, plain: list[int]):
    assert generate(COUNT, k=k) == plain[:COUNT]


@pytest.mark.parametrize("wrong_every", [2, 3, 1_000])
def test_greedy_speculation_with_good_drafts_equals_plain_greedy(wrong_every: int, plain: list[int]):
    with engine(k=5) as made:
        start = len(PROMPT) - 1
        oracle(made, lambda position: plain[position - start :], wrong_every)
        slot, steps = made.add(PROMPT), 0
        tokens: list[int] = []
        while len(tokens) < COUNT:
            tokens += decode(made, slot, 1)
            steps += 1
    assert tokens[:COUNT] == plain[:COUNT]
    assert steps < COUNT / 1.4  # drafts were kept


@pytest.mark.parametrize(
    "options",
    [
        {"share_topk": True},
        {"fuse": ("boundary",)},
        {"fuse": ("moe_front",)},
        {"fuse": ("attn",)},
        {"fuse": ("boundary", "moe_front", "attn"), "share_topk": True},
        {"mhc_stream": True},
        {"link": "host"},
        {"reduce": "atomic"},
        {"prefill_chunk": 3},
        {"batch": 3},
        {"sidecar_mode": "persistent"},
        {"pads": {"router": 5.0}},
    ],
    ids=str,
)
def test_switches_do_not_change_the_answer(options: dict[str, Any], plain: list[int]):
    assert generate(20, k=3, **options) == plain[:20]


@pytest.mark.parametrize("hot", [0, 3, 8])
def test_placement_does_not_change_the_answer(hot: int, plain: list[int]):
    mode = "off" if hot == TINY.experts else "graph"
    with engine(replace(TINY, hot_experts=hot), k=2, sidecar_mode=mode) as made:
        assert decode(made, made.add(PROMPT), 20)[:20] == plain[:20]


def test_sequences_of_a_batch_do_not_mix(plain: list[int]):
    other = PROMPT[:7]
    alone = generate(20, prompt=other, k=2)
    with engine(k=2, batch=4) as made:
        first = made.add(other)
        decode(made, first, 5)
        second = made.add(PROMPT)
        tokens = decode(made, second, 10)
        made.release(first)
        third = made.add(other)
        assert third == first
        both: dict[int, list[int]] = {second: tokens, third: []}
        while len(both[third]) < 20:
            for kept in made.step():
                both[kept.slot] += kept.tokens
    assert both[second][:20] == plain[:20]
    assert both[third][:20] == alone


def test_windows_and_rings_wrap(plain: list[int]):
    # far beyond the window of 8 and the ring, with a chunk that is no multiple of the ratio
    long = (PROMPT * 8)[:150]
    assert generate(20, prompt=long, k=5, prefill_chunk=7) == generate(20, prompt=long, k=0, prefill_chunk=64)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "the prompt is empty"),
        ([1] * 507, "the prompt has 507 tokens, at most 506 fit"),
        ([260], "beyond the vocabulary of 260"),
    ],
)
def test_prompts_that_cannot_be_served(prompt: list[int], message: str):
    with engine() as made, pytest.raises(RequestError, match=message):
        made.add(prompt)


def test_slots_run_out_and_come_back():
    with engine(batch=1, k=1) as made:
        slot = made.add(PROMPT)
        with pytest.raises(RequestError, match="all 1 slots are taken"):
            made.add(PROMPT)
        made.release(slot)
        assert made.add(PROMPT) == slot


def test_a_full_sequence_is_refused():
    with engine(replace(TINY, max_context=32), k=3) as made:
        slot = made.add(PROMPT)
        while made.state.room(slot):
            made.step()
        with pytest.raises(RequestError, match="release it before the step"):
            made.step()


def test_greedy_engine_refuses_a_temperature():
    with engine() as made, pytest.raises(RequestError, match="this engine is greedy"):
        made.add(PROMPT, temperature=0.7)
