"""Who waits and who runs, shared between the HTTP side and the engine's thread under one lock.

Places are the slots of the batch and `max_waiting` more. `boundary` is the policy of the batch: prompts whose client
has left give their place up, and the one that waits longest takes a free slot. One joins at a time, so that those who
run wait for the reading of one prompt at most.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepprof.runtime.serve.errors import ApiError, unavailable
from stepprof.runtime.serve.ticket import Ticket


@dataclass(frozen=True)
class Boundary:
    """What happens between two steps."""

    left: list[Ticket]
    joining: Ticket | None
    late: bool = False  # the time to drain is over


class Roster:
    """The tickets of a server."""

    def __init__(self, slots: int, max_waiting: int) -> None:
        self.slots, self.max_waiting = slots, max_waiting
        self.changed = threading.Condition()
        self.waiting: deque[Ticket] = deque()
        self.running: list[Ticket] = []
        self.counts = Counter[str]()
        self.refusal = ""  # why nothing new is taken
        self.until = float("inf")  # when draining ends

    def submit(self, tickets: Sequence[Ticket]) -> None:
        """Queue the prompts of one request, or refuse them all."""
        places, count = self.slots + self.max_waiting, len(tickets)
        with self.changed:
            if self.refusal:
                raise unavailable(self.refusal)
            if count > places:
                raise ApiError(400, f"the request has {count} prompts, at most {places} fit: split it.", "prompt")
            taken = len(self.running) + len(self.waiting)
            if taken + count > places:
                self.counts["refused"] += 1
                message = f"{taken} of {places} places are taken and {count} more are asked for: try again later."
                raise ApiError(429, message, code="too_many_requests")
            self.waiting.extend(tickets)
            self.changed.notify()

    def boundary(self) -> Boundary | None:
        """Wait for something to do and take the lists on; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.refusal or self.waiting or self.running)
            if not self.waiting and not self.running:
                return None
            left = [ticket for ticket in self.running if ticket.gone]
            here = [ticket for ticket in self.waiting if not ticket.gone]
            self.counts["left"] += len(left) + len(self.waiting) - len(here)
            self.running = [ticket for ticket in self.running if not ticket.gone]
            self.waiting = deque(here)
            return Boundary(left, self._first(), time.monotonic() > self.until)

    def leave(self, tickets: Sequence[Ticket]) -> None:
        """Their client is gone; those that have ended are not affected."""
        with self.changed:
            for ticket in tickets:
                ticket.gone = True

    def done(self, ticket: Ticket, how: str) -> None:
        """A ticket has ended and its slot is free."""
        with self.changed:
            self.running.remove(ticket)
            self.counts[how] += 1

    def close(self, refusal: str, seconds: float) -> None:
        """Take nothing new; what is there may still run for so long."""
        with self.changed:
            self.refusal = self.refusal or refusal
            self.until = min(self.until, time.monotonic() + seconds)
            self.changed.notify()

    def abort(self, refusal: str) -> None:
        """Fail everything that is here and take nothing new."""
        with self.changed:
            self.refusal = self.refusal or refusal
            tickets = [*self.running, *self.waiting]
            self.running, self.waiting = [], deque()
            self.counts["failed"] += len(tickets)
        for ticket in tickets:
            ticket.deliver(unavailable(refusal))

    def _first(self) -> Ticket | None:
        if not self.waiting or len(self.running) == self.slots:
            return None
        self.running.append(self.waiting.popleft())
        return self.running[-1]

    def state(self) -> dict[str, Any]:
        """Counters for /health."""
        with self.changed:
            running, waiting = len(self.running), len(self.waiting)
            slots = {"total": self.slots, "free": self.slots - running}
            counts = {name: self.counts[name] for name in ("completed", "failed", "left", "refused")}
            return {"slots": slots, "running": running, "waiting": waiting, **counts}
