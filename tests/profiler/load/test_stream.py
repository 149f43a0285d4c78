"""One streamed request against servers that answer well, badly or not at all."""

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from stepprof.profiler.load.endpoint import Address, Endpoint
from stepprof.profiler.load.stream import Answer, ask
from tests.profiler.load.fake_server import Handler, fake, good, text


def asked(act: Callable[[Handler, dict[str, Any]], None], timeout: float = 5, **more: Any) -> Answer:
    with fake(act) as (url, _):
        return ask(Endpoint(Address.of(url), "fake", more.pop("route", "completions"), **more), "Hi there", 8, timeout)


def streamed(*events: Any, end: bool = True) -> Callable[[Handler, dict[str, Any]], None]:
    """These events, then a proper end or a broken connection."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for event in events:
            handler.event(event)
        handler.end() if end else handler.drop()

    return act


def test_a_whole_answer():
    found = asked(good(pieces=3, wait=0.02, tokens=9))
    assert (found.error, found.pieces, found.completion_tokens, found.prompt_tokens) == (None, 3, 9, 2)
    assert found.first is not None and found.last is not None
    # the server sleeps before each piece; when a piece is read may be late, so only times since the request are sure
    assert (
        found.first - found.sent >= 0.02 and found.last - found.sent >= 0.06 and found.first < found.last <= found.end
    )


def test_without_usage_there_is_no_count():
    assert asked(good(usage=False)).completion_tokens is None


def test_an_end_without_done_is_one_where_the_finish_is_told():
    assert asked(streamed(text("a"), text("", finish_reason="length"))).error is None


def test_chat_pieces_reasoning_included():
    def delta(**part: Any) -> dict[str, Any]:
        return {"choices": [{"delta": part}]}

    found = asked(
        streamed(delta(role="assistant", content=""), delta(reasoning_content="hm"), delta(content="a"), b"[DONE]")
    )
    assert (found.error, found.pieces, found.thought) == (None, 2, True)


def test_events_may_be_cut_anywhere_and_come_with_comments():
    def act(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for byte in b': hello\r\n\r\ndata: {"choices": [{"text": "a"}]}\r\n\r\ndata: [DONE]\r\n\r\n':
            handler.raw(bytes([byte]))
        handler.end()

    found = asked(act)
    assert (found.error, found.pieces) == (None, 1)


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda h, b: h.document(500, {"error": {"message": "out of memory"}}), "http", "500: out of memory"),
        (lambda h, b: h.document(502, b"<html>bad gateway"), "http", "502: <html>bad gateway"),
        (lambda h, b: h.document(429, {"error": "slow down"}), "http", "429: slow down"),
        (lambda h, b: h.document(200, {"choices": []}), "dropped", "before its end"),
        (streamed(text("a"), end=False), "dropped", ""),
        (streamed(text("a")), "dropped", "before its end"),
        (streamed(b"{oops"), "bad_json", "no JSON: b'{oops'"),
        (streamed(b"[1]"), "bad_json", "no JSON object"),
        (streamed(text("a"), {"error": {"message": "worker died"}}), "server", "worker died"),
        (streamed(b"[DONE]"), "empty", "no text"),
        (streamed({"choices": 5, "usage": {"completion_tokens": -1}}, {"choices": [7]}, b"[DONE]"), "empty", "no text"),
        (lambda h, b: h.drop(), "dropped", ""),
        (lambda h, b: h.wfile.write(b"SSH-2.0-x\r\n"), "dropped", "SSH"),
    ],
)  # fmt: skip
def test_faults_have_a_kind(act, error, said):
    found = asked(act)
    assert found.error == error and said in found.said


def test_a_server_that_says_nothing_is_a_timeout():
    begun = time.perf_counter()
    assert asked(lambda handler, body: time.sleep(1), timeout=0.1).error == "timeout"
    assert time.perf_counter() - begun < 3


def test_a_server_that_drips_for_ever_is_a_timeout():
    def drip(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for _ in range(100):
            handler.event(text("a"))
            time.sleep(0.05)

    assert asked(drip, timeout=0.2).error == "timeout"


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert ask(Endpoint(Address.of(f"http://127.0.0.1:{port}"), "m", "chat"), "Hi", 1, 1).error == "refused"
