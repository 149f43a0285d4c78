"""The prompts of one request on their way through the engine, as the HTTP side sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request

from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.roster import Roster
from stepprof.runtime.serve.ticket import Order, Piece, Ticket

T = TypeVar("T")


class Flight:
    """Submits orders; iterate for their pieces; `leave` when the answer has gone out or cannot."""

    def __init__(self, roster: Roster, orders: Sequence[Order]) -> None:
        self.roster, self.loop = roster, asyncio.get_running_loop()
        self.arrived: asyncio.Queue[Piece | ApiError] = asyncio.Queue()
        self.tickets = [Ticket(order, index, self._deliver) for index, order in enumerate(orders)]
        roster.submit(self.tickets)

    async def pieces(self) -> AsyncIterator[Piece]:
        """Pieces of all prompts as they come; raises what went wrong with one."""
        open_ = len(self.tickets)
        while open_:
            piece = await self.arrived.get()
            if isinstance(piece, ApiError):
                raise piece
            open_ -= piece.finish is not None
            yield piece

    def leave(self) -> None:
        """Give up what still runs or waits."""
        self.roster.leave(self.tickets)

    def _deliver(self, piece: Piece | ApiError) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody is there to hear
            self.loop.call_soon_threadsafe(self.arrived.put_nowait, piece)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, given up when the client leaves."""
    job, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((job, gone), return_when=asyncio.FIRST_COMPLETED)
        if job.done():
            return job.result()
        raise ApiError(499, "the client has left.")
    finally:
        job.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
