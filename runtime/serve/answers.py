"""What a client gets: one document, or the events of a stream; both made of the same pieces."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

from stepprof.runtime.serve.body import Body
from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.ticket import Order, Piece

DONE = "data: [DONE]\n\n"


class Answer:
    """The answer to one request."""

    def __init__(self, model: str, body: Body, orders: Sequence[Order]) -> None:
        self.body, self.orders, self.tokens = body, orders, 0
        head = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion"}
        self.head: dict[str, Any] = {**head, "created": int(time.time()), "model": model}

    def event(self, piece: Piece) -> str:
        """A step of one prompt."""
        self.tokens += len(piece.tokens)
        return event({**self.head, "choices": [self._choice(piece)]})

    def end(self) -> str:
        """After the last piece."""
        usage = event({**self.head, "choices": [], "usage": self._usage()}) if self.body.usage_at_end else ""
        return usage + DONE

    def document(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """All pieces in one."""
        self.tokens = sum(len(piece.tokens) for piece in pieces)
        choices = [self._choice(_whole(index, pieces)) for index in range(len(self.orders))]
        return {**self.head, "choices": choices, "usage": self._usage()}

    def _choice(self, piece: Piece) -> dict[str, Any]:
        ids = {"token_ids": piece.tokens} if self.body.return_token_ids else {}
        return {"index": piece.index, "text": piece.text, "logprobs": None, "finish_reason": piece.finish, **ids}

    def _usage(self) -> dict[str, int]:
        read = sum(len(order.prompt) for order in self.orders)
        return {"prompt_tokens": read, "completion_tokens": self.tokens, "total_tokens": read + self.tokens}


def event(document: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(document)}\n\n"


def failure(fault: ApiError) -> str:
    """The last event of a stream that broke; no [DONE] follows."""
    return event(fault.document())


def _whole(index: int, pieces: Sequence[Piece]) -> Piece:
    mine = [piece for piece in pieces if piece.index == index]
    tokens = [token for piece in mine for token in piece.tokens]
    return Piece(index, "".join(piece.text for piece in mine), tokens, mine[-1].finish)
