"""Whole load tests against a server made for the purpose."""

import itertools
import json
import threading
from typing import Any

import pytest
from typer.testing import CliRunner

from stepprof.profiler.cli import app
from stepprof.profiler.errors import InputError, UsageError
from stepprof.profiler.load.crowd import Load
from stepprof.profiler.load.endpoint import Address, Endpoint
from stepprof.profiler.load.result import LoadResult
from stepprof.profiler.load.run import Plan, load_test
from tests.profiler.load.fake_server import Act, Handler, fake, good, text


def run(act: Act, thinking: bool | None = None, **plan: Any) -> tuple[LoadResult, list[tuple[str, dict[str, Any]]]]:
    with fake(act) as (url, seen):
        route = "completions" if thinking is None else "chat"
        endpoint = Endpoint(Address.of(url), "fake", route, thinking)
        return load_test(endpoint, Plan(load=Load(max_tokens=4, timeout=5), **plan)), seen


def codes(result: LoadResult) -> list[str]:
    return [warning["code"] for warning in result.warnings]


def test_every_class_at_every_concurrency():
    result, seen = run(good(), classes=("prose", "code"), concurrency=(1, 3))
    cells = [(c.class_, c.concurrency, c.requests, c.tokens, c.errors) for c in result.cells]
    assert cells == [("prose", 1, 2, 8, {}), ("prose", 3, 6, 24, {}), ("code", 1, 2, 8, {}), ("code", 3, 6, 24, {})]
    assert len(seen) == 2 * (3 + 9)  # warm-up included
    assert result.warnings == ()


def test_that_many_are_really_there_at_once():
    together = threading.Barrier(3, timeout=4)

    def act(handler: Handler, body: dict[str, Any]) -> None:
        together.wait()  # breaks unless three are in flight
        good()(handler, body)

    result, _ = run(act, concurrency=(3,))
    assert result.cells[0].errors == {}


def test_prefill_lengths_are_chosen_by_the_servers_count():
    result, seen = run(good(tokens=1), classes=(), prefill=(50, 500))
    assert [(p.asked_tokens, p.requests, p.prompt_tokens) for p in result.prefill] == [(50, 2, 50), (500, 2, 500)]
    first_words = [body["prompt"].split()[0] for _, body in seen]
    assert len(set(first_words)) == len(first_words)  # nothing that a prefix cache could know
    assert all(p.tokens_per_s for p in result.prefill)


def test_no_usage_means_pieces_and_no_prefill():
    result, _ = run(good(usage=False), prefill=(50,))
    assert result.cells[0].counted == "pieces" and result.prefill[0].errors == {"no_usage": 1}
    assert codes(result) == ["failed_requests", "pieces"]


def test_cached_prompts_are_told():
    result, _ = run(good(prompt_tokens_details={"cached_tokens": 7}), prefill=(50,))
    assert result.prefill[0].cached_tokens == 14 and codes(result) == ["cached"]


def test_some_failures_are_counted():
    turn = itertools.count()

    def act(handler: Handler, body: dict[str, Any]) -> None:
        good()(handler, body) if next(turn) % 2 else handler.document(500, {"error": {"message": "oops"}})

    result, _ = run(act, concurrency=(2,))
    cell = result.cells[0]
    assert cell.requests == 4 and cell.errors == {"http": 2} and cell.tokens == 8
    assert codes(result) == ["failed_requests"]


def test_a_server_that_answers_nothing_is_a_fault():
    with pytest.raises(InputError, match=r"answered no request \(http: 500: oops\)"):
        run(lambda handler, body: handler.document(500, {"error": {"message": "oops"}}))


@pytest.mark.parametrize(
    ("thinking", "part", "said"), [(False, "reasoning", ["thinks_anyway"]), (True, "content", ["no_thinking_seen"])]
)
def test_a_switch_that_the_server_does_not_know_is_told(thinking, part, said):
    def act(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.event({"choices": [{"delta": {part: "a"}}], "usage": {"completion_tokens": 1}})
        handler.event(b"[DONE]")
        handler.end()

    result, seen = run(act, thinking)
    assert codes(result) == said and seen[0][1]["chat_template_kwargs"]["thinking"] is thinking


def cli(*words: object) -> str:
    done = CliRunner().invoke(app, ["load", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_command(tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"prompt": "one"}\n{"prompt": "two"}\n')
    with fake(good()) as (url, seen):
        words = ("--url", url, "--concurrency", "1,2", "--prompts", tmp_path / "mine.jsonl", "--max-tokens", "4")
        found = json.loads(cli(*words, "--json"))
        assert {body["prompt"] for path, body in seen if path == "/v1/completions"} == {"one", "two"}
        text_ = cli(*words, "--prefill", "20")
    assert [c["concurrency"] for c in found["cells"]] == [1, 2] and found["cells"][0]["kind"] == "measured"
    assert "fake, completions, at most 4 tokens, measured" in text_ and "prefill 20 tokens (sent 20.0)" in text_


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--concurrency", "0"), "whole numbers from 1"),
        (("--concurrency", "1,x"), "whole numbers from 1"),
        (("--prefill", "9999999999999"), "whole numbers from 1"),
        (("--prompts", "poetry"), "the classes are prose"),
        (("--key-env", "STEPPROF_NO_SUCH_KEY"), "is not set"),
    ],
)
def test_usage(words, said):
    with fake(good()) as (url, _), pytest.raises(UsageError, match=said):
        cli("--url", url, *words)


def test_control_characters_of_a_server_do_not_reach_the_terminal():
    turn = itertools.count()

    def act(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.event(text("a") | {"usage": {"completion_tokens": 1}})
        handler.event({"error": "\x1b[2J gone"} if next(turn) % 2 else b"[DONE]")
        handler.end()

    with fake(act) as (url, _):
        words = ["load", "--url", url, "--route", "completions", "--concurrency", "2"]
        out = CliRunner().invoke(app, words).stdout
    assert "server: \N{REPLACEMENT CHARACTER}[2J gone" in " ".join(out.split()) and "\x1b" not in out
