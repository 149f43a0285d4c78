"""The routes: POST /v1/completions, GET /v1/models, GET /health. Every error is a JSON document in OpenAI's form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stepprof.runtime.serve.answers import Answer, failure
from stepprof.runtime.serve.body import Limits, orders, parse
from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.flight import Flight, unless_gone
from stepprof.runtime.serve.ticket import Piece
from stepprof.runtime.serve.worker import Worker

MAX_BODY = 4 * 2**20


def make_app(worker: Worker, limits: Limits) -> FastAPI:
    """The application over a worker."""
    app = FastAPI(title="stepprof", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)

    async def completions(request: Request) -> Response:
        return await _complete(request, worker, limits)

    async def models() -> dict[str, Any]:
        model = {"id": limits.model, "object": "model", "created": 0, "owned_by": "stepprof"}
        return {"object": "list", "data": [{**model, "max_model_len": limits.context}]}

    async def health() -> Response:
        fine, document = worker.health()
        return JSONResponse(document, 200 if fine else 503)

    app.add_api_route("/v1/completions", completions, methods=["POST"], response_model=None)
    app.add_api_route("/v1/models", models, methods=["GET"])
    app.add_api_route("/health", health, methods=["GET"], response_model=None)
    return app


async def _complete(request: Request, worker: Worker, limits: Limits) -> Response:
    body = parse(await _read(request))
    wanted = orders(body, limits)
    answer, flight = Answer(limits.model, body, wanted), Flight(worker.roster, wanted)
    try:
        if not body.stream:
            return JSONResponse(answer.document(await unless_gone(request, _all(flight))))
        # the status goes out with the first piece, so a fault before it still has its own
        pieces = flight.pieces()
        first = await unless_gone(request, _next(pieces))
    except BaseException:
        flight.leave()
        raise
    return EventStream(flight, _events(answer, first, pieces))


class EventStream(StreamingResponse):
    """A stream that gives its places up when it ends, however it ends."""

    def __init__(self, flight: Flight, events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self.flight = flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events; the places are given up even if the client left before the first."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.flight.leave()


async def _events(answer: Answer, first: Piece, pieces: AsyncIterator[Piece]) -> AsyncIterator[str]:
    try:
        yield answer.event(first)
        async for piece in pieces:
            yield answer.event(piece)
    except ApiError as fault:
        yield failure(fault)
        return
    yield answer.end()


async def _all(flight: Flight) -> list[Piece]:
    return [piece async for piece in flight.pieces()]


async def _next(pieces: AsyncIterator[Piece]) -> Piece:
    return await anext(pieces)


async def _read(request: Request) -> bytes:
    raw = bytearray()
    try:
        async for part in request.stream():
            raw += part
            if len(raw) > MAX_BODY:
                raise ApiError(413, f"the body is larger than {MAX_BODY} bytes: shorten it.", code="body_too_large")
    except ClientDisconnect:
        raise ApiError(499, "the client has left.") from None
    return bytes(raw)


async def _api_error(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, ApiError)
    headers = {"Retry-After": "1"} if fault.status == 429 else None
    return JSONResponse(fault.document(), fault.status, headers)


async def _http_error(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    routes = "POST /v1/completions, GET /v1/models, GET /health"
    message = f"{request.method} {request.url.path}: {fault.detail}; there are {routes}."
    return JSONResponse(ApiError(fault.status_code, message).document(), fault.status_code, fault.headers)


async def _bug(request: Request, fault: Exception) -> Response:
    return JSONResponse(ApiError(500, f"the server failed with {type(fault).__name__}.").document(), 500)
