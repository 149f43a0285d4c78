"""One streamed request, with the moment of every piece: `ask(endpoint, "Hi", max_tokens=64, timeout=60)`.

Never raises for what a server does: a fault becomes the answer's `error`, one of `refused`, `http`, `dropped`,
`timeout`, `bad_json`, `server`, `empty`.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, cast

from stepprof.profiler.load.endpoint import Endpoint

PIECE = 65_536
LONGEST_EVENT = 2**24  # bytes; a server that never ends a line must not fill the memory


@dataclass
class Answer:
    """What came back; times are seconds of time.perf_counter, `sent` after the connection is open."""

    sent: float = 0.0
    first: float | None = None  # arrival of the first piece with text
    last: float | None = None  # and of the last
    end: float = 0.0
    pieces: int = 0
    completion_tokens: int | None = None  # by the server's usage
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    thought: bool = False  # a piece of reasoning came
    finished: bool = False
    error: str | None = None
    said: str = ""

    def fail(self, error: str, said: object) -> None:
        """Keep the first fault."""
        if self.error is None:
            self.error, self.said = error, str(said)[:300]


class _Fault(Exception):
    def __init__(self, error: str, said: object) -> None:
        super().__init__(said)
        self.error = error


def ask(endpoint: Endpoint, prompt: str, max_tokens: int, timeout: float) -> Answer:
    """Send a request and read its stream to the end."""
    answer = Answer()
    try:
        connection = endpoint.address.connect(timeout)
    except OSError as fault:
        answer.fail("refused", fault)
        return answer
    try:
        answer.sent = time.perf_counter()
        connection.request("POST", endpoint.path, endpoint.body(prompt, max_tokens), endpoint.address.headers)
        _read(connection, answer, answer.sent + timeout)
    except _Fault as fault:
        answer.fail(fault.error, fault)
    except TimeoutError:
        answer.fail("timeout", f"no answer within {timeout:g} s")
    except (OSError, http.client.HTTPException) as fault:
        answer.fail("dropped", fault or type(fault).__name__)
    finally:
        answer.end = time.perf_counter()
        connection.close()
    return answer


def _read(connection: http.client.HTTPConnection, answer: Answer, deadline: float) -> None:
    response = connection.getresponse()
    if response.status != 200:
        raise _Fault("http", f"{response.status}: {_message(response.read(PIECE))}")
    for event in _events(response, deadline):
        if event == b"[DONE]":
            answer.finished = True
            break
        try:
            document = json.loads(event)
        except ValueError:
            raise _Fault("bad_json", f"an event is no JSON: {event[:80]!r}") from None
        _take(document, answer, time.perf_counter())
    if not answer.finished:
        raise _Fault("dropped", "the stream ended before its end")
    if answer.pieces == 0:
        raise _Fault("empty", "the stream held no text")


def _events(response: http.client.HTTPResponse, deadline: float) -> Generator[bytes]:
    """The data of server-sent events, as they arrive."""
    buffer = _Lines()
    while piece := response.read1(PIECE):
        if time.perf_counter() > deadline:
            raise _Fault("timeout", "the stream did not end in time")
        for line in buffer.add(piece):
            if line.startswith(b"data:"):
                yield line[5:].strip()


@dataclass
class _Lines:
    """Bytes into lines."""

    rest: bytearray = field(default_factory=bytearray)

    def add(self, piece: bytes) -> list[bytes]:
        """The lines that a piece completes."""
        self.rest += piece
        *lines, rest = bytes(self.rest).split(b"\n") if b"\n" in piece else [bytes(self.rest)]
        self.rest = bytearray(rest)
        if len(rest) > LONGEST_EVENT:
            raise _Fault("bad_json", f"an event is longer than {LONGEST_EVENT} bytes")
        return lines


def _take(document: Any, answer: Answer, now: float) -> None:
    """One event: text, the end, usage, or the server's own fault."""
    if not isinstance(document, dict):
        raise _Fault("bad_json", "an event is no JSON object")
    event = cast(dict[str, Any], document)
    if event.get("error"):
        raise _Fault("server", _fault_text(event["error"]))
    _take_usage(event.get("usage"), answer)
    choices = event.get("choices")
    choice = cast(list[Any], choices)[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        return
    text, thought = _text(cast(dict[str, Any], choice))
    answer.finished |= bool(cast(dict[str, Any], choice).get("finish_reason"))
    answer.thought |= thought
    if text or cast(dict[str, Any], choice).get("token_ids"):
        answer.pieces += 1
        answer.first = now if answer.first is None else answer.first
        answer.last = now


def _text(choice: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a choice brings text, and whether that is reasoning."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return bool(choice.get("text")), False
    part = cast(dict[str, Any], delta)
    thought = bool(part.get("reasoning_content") or part.get("reasoning"))
    return bool(part.get("content") or part.get("tool_calls")) or thought, thought


def _take_usage(usage: Any, answer: Answer) -> None:
    if not isinstance(usage, dict):
        return
    counts = cast(dict[str, Any], usage)
    answer.completion_tokens = _count(counts.get("completion_tokens"), answer.completion_tokens)
    answer.prompt_tokens = _count(counts.get("prompt_tokens"), answer.prompt_tokens)
    details = counts.get("prompt_tokens_details")
    if isinstance(details, dict):
        answer.cached_tokens = _count(cast(dict[str, Any], details).get("cached_tokens"), 0) or 0


def _count(value: Any, otherwise: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _message(raw: bytes) -> str:
    """What an error document says, or its first bytes."""
    try:
        return _fault_text(json.loads(raw)["error"])
    except (ValueError, KeyError, TypeError):
        return raw[:200].decode("utf-8", "replace").strip() or "no text"


def _fault_text(fault: Any) -> str:
    return str(cast(dict[str, Any], fault).get("message", fault) if isinstance(fault, dict) else fault)
