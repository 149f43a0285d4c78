"""Servers for tests, and clients that talk to them: `with serving(batch=2) as client: client.ask("Hi", 5)`."""

import itertools
import json
import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest

from stepprof.runtime.facts import Facts
from tests.runtime.engines import engine

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

LONG = {"prompt": "long", "max_tokens": 450, "ignore_eos": True}
BOTH = {"return_token_ids": True, "ignore_eos": True}


class Client:
    """A server under test and the ways to talk to it."""

    def __init__(self, server: Any, thread: Thread, outcome: list[Any]) -> None:
        self.thread, self.outcome = thread, outcome  # what the server's work gave or raised, once it has ended
        self.server, self.http = server, httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=20)

    def post(self, body: dict[str, Any]) -> Any:
        return self.http.post("/v1/completions", json=body)

    def ask(self, prompt: Any, count: int, **more: Any) -> dict[str, Any]:
        """The answer in one piece."""
        answer = self.post({"prompt": prompt, "max_tokens": count, **BOTH, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    @contextmanager
    def open(self, body: dict[str, Any]) -> Generator[Iterator[str]]:
        """The lines of a stream that has begun; it is closed on the way out, and where the iterator is dropped."""
        with self.http.stream("POST", "/v1/completions", json={**body, "stream": True}) as answer:
            lines = (line.removeprefix("data: ") for line in answer.iter_lines() if line)
            yield itertools.chain([next(lines)], lines)

    def stream(self, prompt: Any, count: int, **more: Any) -> list[dict[str, Any]]:
        """All events of a stream that ends well."""
        with self.open({"prompt": prompt, "max_tokens": count, **BOTH, **more}) as lines:
            return events(lines)

    def knock(self, body: dict[str, Any]) -> socket.socket:
        """A request whose answer nobody reads."""
        raw = json.dumps(body).encode()
        line = socket.create_connection(("127.0.0.1", self.server.port))
        line.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
        return line

    def health(self) -> dict[str, Any]:
        return self.http.get("/health").json()

    def wait(self, test: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first health report that passes."""
        until = time.monotonic() + 10
        while not test(now := self.health()):
            assert time.monotonic() < until, now
            time.sleep(0.01)
        return now


def events(lines: Iterator[str]) -> list[dict[str, Any]]:
    """Documents of a stream, which must end with [DONE]."""
    *documents, done = lines
    assert done == "[DONE]"
    return [json.loads(line) for line in documents]


def tokens(documents: Sequence[dict[str, Any]]) -> list[int]:
    return [token for one in documents for choice in one["choices"] for token in choice["token_ids"]]


def text(documents: Sequence[dict[str, Any]]) -> str:
    return "".join(choice["text"] for one in documents for choice in one["choices"])


@contextmanager
def serving(max_waiting: int = 8, facts: Facts | None = None, **options: Any) -> Generator[Client]:
    """A server in a thread; it must end by itself, without a leak."""
    from stepprof.runtime.serve.server import Server, listen

    with engine(**options) as made:
        server = Server(made, listen(0), max_waiting, facts)
        outcome: list[Any] = []

        def work() -> None:
            try:
                outcome.append(server.work())
            except Exception as fault:
                outcome.append(fault)

        thread = Thread(target=work)
        thread.start()
        client = Client(server, thread, outcome)
        while not (server.started or outcome):
            time.sleep(0.01)
        try:
            yield client
        finally:
            client.http.close()
            server.stop()
            thread.join(6)
            assert not thread.is_alive() and not server.worker.thread.is_alive()
