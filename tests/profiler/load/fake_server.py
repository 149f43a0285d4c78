"""A server that answers as a test says: `with fake(good()) as url: ...`.

An act gets the handler and the request's document and writes what it likes. Models are listed by themselves.
"""

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """One request; a stream is sent in HTTP chunks."""

    protocol_version = "HTTP/1.1"
    act: Act
    seen: list[tuple[str, dict[str, Any]]]

    def do_GET(self) -> None:
        self.document(200, {"data": [{"id": "fake"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body))
        type(self).act(self, body)

    def document(self, status: int, what: Any) -> None:
        raw = what if isinstance(what, bytes) else json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def raw(self, data: bytes) -> None:
        """One HTTP chunk."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, what: Any) -> None:
        self.raw(b"data: " + (what if isinstance(what, bytes) else json.dumps(what).encode()) + b"\n\n")

    def end(self) -> None:
        self.raw(b"")

    def drop(self) -> None:
        """End the connection in the middle of an answer."""
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def text(piece: str, **more: Any) -> dict[str, Any]:
    """An event of a completion."""
    return {"choices": [{"text": piece, "finish_reason": None} | more]}


def good(pieces: int = 4, usage: bool = True, wait: float = 0.0, tokens: int | None = None, **counts: Any) -> Act:
    """A whole answer: pieces with `wait` seconds before each; `tokens` in all, a piece one without."""

    def act(handler: Handler, body: dict[str, Any]) -> None:
        if "messages" in body:
            handler.document(404, {"error": {"message": "no chat"}})
            return
        handler.begin()
        for i in range(min(pieces, body["max_tokens"])):
            time.sleep(wait)
            handler.event(text(f"w{i} "))
        handler.event(text("", finish_reason="stop"))
        if usage:
            prompt = len(body["prompt"].split())
            handler.event(
                {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": tokens or pieces} | counts}
            )
        handler.event(b"[DONE]")
        handler.end()

    return act


@contextmanager
def fake(act: Act) -> Generator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Its address, and the list of (path, document) that it has been asked."""
    seen: list[tuple[str, dict[str, Any]]] = []
    handler = type("Made", (Handler,), {"act": staticmethod(act), "seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
