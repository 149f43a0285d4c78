"""One prompt on its way: what was asked (`Order`), how far it is (`Ticket`), what a step brought (`Piece`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from stepprof.runtime import tokenizer
from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.text import Text

Finish = Literal["stop", "length"]


@dataclass(frozen=True)
class Order:
    """A prompt and what to do with it, checked."""

    prompt: Sequence[int]
    max_tokens: int
    temperature: float | None = None  # None: the engine's own
    seed: int | None = None
    stops: tuple[str, ...] = ()
    ignore_end: bool = False  # go on after the end token, as `run` does


@dataclass(frozen=True)
class Piece:
    """What one step brought for one prompt."""

    index: int
    text: str
    tokens: list[int]
    finish: Finish | None = None


Deliver = Callable[[Piece | ApiError], object]


class Ticket:
    """An order in the roster; `deliver` is called from the engine's thread."""

    def __init__(self, order: Order, index: int, deliver: Deliver) -> None:
        self.order, self.index, self.deliver = order, index, deliver
        self.text, self.count = Text(order.stops), 0
        self.gone = False  # its client has left

    def advance(self, kept: Sequence[int]) -> Piece:
        """Take in what a step kept, up to the end of the answer."""
        used: list[int] = []
        finish: Finish | None = None
        for token in kept:
            finish = self._take(token)
            used.append(token)
            if finish:
                break
        text = self.text.take()
        if finish:
            rest, stopped = self.text.finish()
            text, finish = text + rest, "stop" if stopped else finish
        return Piece(self.index, text, used, finish)

    def _take(self, token: int) -> Finish | None:
        self.count += 1
        if self.text.feed(token) or (token == tokenizer.END and not self.order.ignore_end):
            return "stop"
        return "length" if self.count >= self.order.max_tokens else None
