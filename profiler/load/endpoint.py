"""Where a server is asked and how: its address, model and route, and the body of a request.

endpoint = find_endpoint(Address.of("http://127.0.0.1:8000"), None, "auto", thinking=None)
endpoint.body("Why is the sky blue?", max_tokens=128)
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from stepprof.profiler.errors import InputError, UsageError

Route = Literal["auto", "chat", "completions"]
PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
MOST_JSON = 2**22  # bytes of a document that is no stream


@dataclass(frozen=True)
class Address:
    """Scheme, host, port and the path before /v1; `key` is sent as a bearer token, never shown."""

    scheme: str
    host: str
    port: int | None
    prefix: str = ""
    key: str | None = None

    @classmethod
    def of(cls, url: str, key: str | None = None) -> Address:
        """From what a user writes; UsageError where it is no http address."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host or parts.username or parts.query:
            raise UsageError(f"--url {url!r} is no address of a server: write http://HOST:PORT.")
        return cls(parts.scheme, host, port, parts.path.rstrip("/").removesuffix("/v1"), key)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{f':{self.port}' if self.port else ''}{self.prefix}"

    @property
    def headers(self) -> dict[str, str]:
        """Of every request."""
        bearer = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **bearer}

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """An open connection; OSError where nobody answers."""
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        made = kind(self.host, self.port, timeout=timeout)
        made.connect()
        return made


@dataclass(frozen=True)
class Endpoint:
    """A route of a server, and what its requests have in common."""

    address: Address
    model: str
    route: Literal["chat", "completions"]
    thinking: bool | None = None
    ignore_eos: bool = False

    @property
    def path(self) -> str:
        """Of the route."""
        return self.address.prefix + PATHS[self.route]

    def body(self, prompt: str, max_tokens: int) -> bytes:
        """A streamed, greedy request."""
        asked: dict[str, Any] = {"model": self.model, "max_tokens": max_tokens, "temperature": 0, "stream": True}
        asked["stream_options"] = {"include_usage": True}
        if self.route == "chat":
            asked["messages"] = [{"role": "user", "content": prompt}]
        else:
            asked["prompt"] = prompt
        if self.thinking is not None:  # templates of different families read different names
            asked["chat_template_kwargs"] = {"thinking": self.thinking, "enable_thinking": self.thinking}
        if self.ignore_eos:
            asked["ignore_eos"] = True
        return json.dumps(asked).encode()


def find_endpoint(
    address: Address, model: str | None, route: Route, thinking: bool | None, ignore_eos: bool = False
) -> Endpoint:
    """The server's model and route; with `auto`, chat where the server has it, else completions.

    Raises InputError where the server does not answer, UsageError where completions are to think.
    """
    if thinking is not None and route == "completions":
        raise UsageError("--thinking is a matter of the chat template: leave out --route completions.")
    name = model or _first_model(address)
    if route == "auto":
        route = "chat" if thinking is not None or _has_chat(address, name) else "completions"
    return Endpoint(address, name, route, thinking, ignore_eos)


def _first_model(address: Address) -> str:
    status, raw = _exchange(address, "GET", f"{address.prefix}/v1/models", None)
    try:
        model = json.loads(raw)["data"][0]["id"]
    except (ValueError, KeyError, IndexError, TypeError):
        model = None
    if status != 200 or not isinstance(model, str):
        raise InputError(f"{address} does not list its models at /v1/models (status {status}): name one with --model.")
    return model


def _has_chat(address: Address, model: str) -> bool:
    """Whether the chat route exists; any other fault of it shows in the load test itself."""
    body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    status, _ = _exchange(address, "POST", address.prefix + PATHS["chat"], json.dumps(body).encode())
    return status not in (404, 405)


def _exchange(address: Address, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    """Status and document of a short request; InputError where the server cannot be reached."""
    try:
        connection = address.connect(timeout=60)
        try:
            connection.request(method, path, body, address.headers)
            answer = connection.getresponse()
            return answer.status, answer.read(MOST_JSON)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as fault:
        raise InputError(f"{address} does not answer ({fault or type(fault).__name__}): check --url.") from None
