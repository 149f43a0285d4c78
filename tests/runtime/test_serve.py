"""A server under real HTTP clients: tokens as in a run, streams, refusals, clients that leave."""

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stepprof.runtime import tokenizer
from stepprof.runtime.prompts import prompts
from stepprof.runtime.run import Plan, run
from tests.runtime.engines import engine, generate
from tests.runtime.servers import LONG, Client, serving, text, tokens


@pytest.fixture(scope="module")
def eight() -> Generator[Client]:
    """A batch of eight."""
    with serving(batch=8, k=2) as client:
        client.http.get("/health")
        yield client


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Generator[None]:
    """After a test the shared server has its slots and threads back."""
    if "eight" not in request.fixturenames:
        yield
        return
    client: Client = request.getfixturevalue("eight")
    before = client.health()["threads"]
    yield
    after = client.wait(lambda now: now["running"] == now["waiting"] == 0)
    assert (after["status"], after["slots"]["free"], after["threads"]) == ("ok", 8, before)


def test_concurrent_streams_give_the_tokens_of_plain_decoding(eight: Client):
    texts = [f"{n} bottles" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        streams = list(pool.map(lambda one: eight.stream(one, 12), texts))
    for one, documents in zip(texts, streams, strict=True):
        assert tokens(documents) == generate(12, prompt=tokenizer.encode(one), k=0)


def test_the_server_gives_the_tokens_of_a_run(eight: Client):
    with engine(k=2) as made:
        (prose,) = run(made, Plan(("prose",), steps=5, warm_up=0))["classes"]
    (expected,) = prose["tokens"]
    assert tokens([eight.ask(prompts("prose")[0], len(expected))]) == expected


def test_a_stream_says_what_one_piece_says(eight: Client):
    whole = eight.ask("The same", 20)
    *pieces, last = eight.stream("The same", 20, stream_options={"include_usage": True})
    assert tokens(pieces) == tokens([whole]) and text(pieces) == text([whole])
    assert [one["choices"][0]["finish_reason"] for one in pieces] == [None] * (len(pieces) - 1) + ["length"]
    assert last["choices"] == [] and last["usage"] == whole["usage"]
    assert whole["usage"] == {"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29}
    assert text([whole]) == tokenizer.decode(tokens([whole])) and len(pieces) > 6


def test_prompts_of_a_list_answer_by_index(eight: Client):
    both = eight.ask(["one", "two"], 10)
    as_tokens = eight.ask([tokenizer.encode("one"), tokenizer.encode("two")], 10)
    assert [choice["index"] for choice in both["choices"]] == [0, 1]
    assert both["choices"] == as_tokens["choices"]
    assert [choice["token_ids"] for choice in both["choices"]] == [tokens([eight.ask(t, 10)]) for t in ("one", "two")]
    assert both["choices"][0]["token_ids"] == tokens([eight.ask(tokenizer.encode("one"), 10)])


def test_a_stop_string_ends_an_answer(eight: Client):
    whole = text([eight.ask("stop here", 24)])
    stop = whole[9:12]
    cut = whole[: whole.index(stop)]
    answer, pieces = eight.ask("stop here", 24, stop=[stop, "never"]), eight.stream("stop here", 24, stop=stop)
    assert text([answer]) == text(pieces) == cut
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["usage"]["completion_tokens"] < 24


@pytest.mark.parametrize(
    ("body", "status", "param", "message"),
    [
        (b'{"prompt": "x', 400, None, "the body is not JSON"),
        (b'{"prompt": "\xff"}', 400, None, "the body is not JSON"),
        (b"[" * 100_000, 400, None, "the body is not JSON"),
        (b"[1]", 400, None, "object"),
        ({}, 400, "prompt", "required"),
        ({"prompt": 7}, 400, "prompt", "must be a string"),
        ({"prompt": []}, 400, "prompt", "must be a string"),
        ({"prompt": ["a", 1]}, 400, "prompt", "must be a string"),
        ({"prompt": [1, 260]}, 400, "prompt", "each from 0 to 259"),
        ({"prompt": [[]]}, 400, "prompt", "must be a string"),
        ({"prompt": ["x"] * 17}, 400, "prompt", "17 prompts, at most 16 fit"),
        ({"prompt": "x" * 510}, 400, "prompt", "511 tokens and max_tokens is 1; together at most 510 fit"),
        ({"prompt": "x", "max_tokens": 509}, 400, "max_tokens", "together at most 510 fit"),
        ({"prompt": "x", "max_tokens": 0}, 400, "max_tokens", "greater than or equal to 1"),
        ({"prompt": "x", "max_tokens": -1}, 400, "max_tokens", "greater than or equal to 1"),
        ({"prompt": "x", "max_tokens": "9"}, 400, "max_tokens", "valid integer"),
        ({"prompt": "x", "max_tokens": True}, 400, "max_tokens", "valid integer"),
        ({"prompt": "x", "stream": "yes"}, 400, "stream", "valid boolean"),
        ({"prompt": "x", "temperature": -1}, 400, "temperature", "greater than or equal to 0"),
        ({"prompt": "x", "temperature": 0.7}, 400, "temperature", "this one is greedy"),
        ({"prompt": "x", "stop": [""]}, 400, "stop", "none of them empty"),
        ({"prompt": "x", "stop": ["a"] * 5}, 400, "stop", "at most 4"),
        ({"prompt": "x", "logprobs": 1}, 400, "logprobs", "not supported"),
        ({"prompt": "x", "n": 2}, 400, "n", "not supported"),
        ({"prompt": "x", "top_k": 1}, 400, "top_k", "no field 'top_k'; there are model, prompt"),
        ({"prompt": "x", "model": "gpt"}, 404, "model", "no model 'gpt'; there is tiny"),
        (b" " * (5 * 2**20), 413, None, "larger than"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_requests_get_a_clear_answer(eight: Client, body: Any, status: int, param: str | None, message: str):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = eight.http.post("/v1/completions", content=raw)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["type"]) == (status, param, "invalid_request_error")
    assert message in error["message"]


def test_neutral_fields_and_the_longest_prompt_are_served(eight: Client):
    neutral = {"model": "tiny", "n": 1, "top_p": 1.0, "echo": False, "logprobs": None, "user": "me", "seed": 7}
    assert len(tokens([eight.ask("x" * 508, 1, temperature=0, stream=None, stop=None, **neutral)])) == 1
    assert len(tokens([eight.ask("", 3)])) == 3


def test_other_routes(eight: Client):
    (model,) = eight.http.get("/v1/models").json()["data"]
    assert (model["id"], model["max_model_len"]) == ("tiny", 510)
    for answer, status in ((eight.http.get("/v1/chat"), 404), (eight.http.get("/v1/completions"), 405)):
        assert answer.status_code == status and "there are POST /v1/completions" in answer.json()["error"]["message"]


def test_a_client_that_leaves_frees_its_slot(eight: Client):
    before = eight.health()
    with eight.open(LONG):
        assert eight.health()["slots"]["free"] == 7
    after = eight.wait(lambda now: now["slots"]["free"] == 8)
    assert after["left"] == before["left"] + 1 and after["steps"] - before["steps"] < 100
    with eight.knock(LONG):
        eight.wait(lambda now: now["running"] == 1)
    eight.wait(lambda now: now["slots"]["free"] == 8 and now["left"] == before["left"] + 2)
    assert len(tokens([eight.ask("still there", 5)])) == 5
