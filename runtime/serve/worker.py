"""The one thread that owns the engine: at each boundary some leave and one may join, then the whole batch steps.

A fault of the engine or its sidecar fails every prompt that runs or waits; no token of the faulty step is sent.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stepprof.runtime import tokenizer
from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import RequestError, RuntimeFault
from stepprof.runtime.facts import Facts
from stepprof.runtime.serve.draws import SlotDraws
from stepprof.runtime.serve.errors import ApiError
from stepprof.runtime.serve.roster import Roster
from stepprof.runtime.serve.ticket import Order, Piece, Ticket

LATE = "the server is shutting down: send the request again later."


class Worker:
    """Steps the engine while there is something to do."""

    def __init__(self, engine: Engine, max_waiting: int, facts: Facts | None, on_fault: Callable[[], None]) -> None:
        self.draws = SlotDraws.over(engine.draws)
        self.engine = replace(engine, draws=self.draws)
        self.roster = Roster(engine.options.batch, max_waiting)
        self.facts, self.on_fault = facts, on_fault
        self.tickets: dict[int, Ticket] = {}  # by slot
        self.fault: RuntimeFault | None = None
        self.thread = threading.Thread(target=self._work, name="engine", daemon=True)

    def start(self) -> None:
        """Start, and serve one token, so that graphs are captured and faults met before the first client."""
        outcome: queue.SimpleQueue[Piece | ApiError] = queue.SimpleQueue()
        self.roster.submit([Ticket(Order([tokenizer.BEGIN], 1), 0, outcome.put)])
        self.thread.start()
        outcome.get()
        self.roster.counts.clear()

    def join(self, seconds: float) -> bool:
        """Whether the thread has ended within so many seconds; the roster must be closed."""
        self.thread.join(seconds)
        return not self.thread.is_alive()

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Whether requests are served, and counters."""
        refusal = self.roster.refusal
        status = {"status": "unavailable" if refusal else "ok", "reason": refusal or None}
        counters = {"steps": self.engine.state.steps, "threads": threading.active_count()}
        return not refusal, {**status, **self.roster.state(), **counters}

    def _work(self) -> None:
        try:
            while self._turn():
                pass
        except RuntimeFault as fault:
            self._fail(fault)
        except Exception as error:
            traceback.print_exc()
            self._fail(RuntimeFault(f"the engine failed with {type(error).__name__} ({error}): start it again."))

    def _turn(self) -> bool:
        """One boundary and the step after it; False at the end."""
        boundary = self.roster.boundary()
        if boundary is None:
            return False
        for ticket in boundary.left:
            self._release(ticket)
        if boundary.late:
            self.roster.abort(LATE)
            return False
        if boundary.joining is not None:
            self._join(boundary.joining)
        if self.tickets:
            self._step()
        return True

    def _join(self, ticket: Ticket) -> None:
        order = ticket.order
        try:
            slot = self.engine.add(order.prompt, order.temperature)
        except RequestError as fault:
            self.roster.done(ticket, "failed")
            ticket.deliver(ApiError(400, str(fault)))
            return
        self.tickets[slot] = ticket
        if order.seed is not None:
            self.draws.seed(slot, order.seed)

    def _release(self, ticket: Ticket) -> None:
        slot = next(slot for slot, one in self.tickets.items() if one is ticket)
        del self.tickets[slot]
        self.draws.own.pop(slot, None)
        self.engine.release(slot)

    def _step(self) -> None:
        kept = self.engine.step()
        if self.facts is not None:
            self.facts.note(self.engine, kept)
        for one in kept:
            ticket = self.tickets[one.slot]
            piece = ticket.advance(one.tokens)
            if piece.finish:
                # first, so that a client that sees the end finds the slot free
                self._release(ticket)
                self.roster.done(ticket, "completed")
            ticket.deliver(piece)

    def _fail(self, fault: RuntimeFault) -> None:
        self.fault = fault
        self.roster.abort(str(fault))
        self.on_fault()
