"""The HTTP server around a worker: starts, announces itself, drains on SIGTERM, says how it ended.

    server = Server(engine, listen(8000))
    server.work()                      # until server.stop(), a signal or a fault

Leaving takes at most 5 s: running prompts have GRACE_S to end, then they fail with 503; HARD_S cuts off connections
that do not read; whatever still computes after JOIN_S is a fault.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn

from stepprof.runtime.engine import Engine
from stepprof.runtime.errors import RuntimeFault, SidecarError
from stepprof.runtime.facts import Facts
from stepprof.runtime.serve.app import make_app
from stepprof.runtime.serve.body import Limits
from stepprof.runtime.serve.worker import LATE, Worker

HOST = "127.0.0.1"
GRACE_S, HARD_S, JOIN_S = 2.5, 4, 0.5


def listen(port: int) -> socket.socket:
    """A bound socket on the loopback interface; port 0 takes a free one."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as fault:
        listener.close()
        raise RuntimeFault(f"port {port} cannot be used ({fault}): choose another --port.") from None
    return listener


class Server(uvicorn.Server):
    """One engine behind one port."""

    def __init__(
        self, engine: Engine, listener: socket.socket, max_waiting: int = 64, facts: Facts | None = None
    ) -> None:
        self.worker, self.limits = Worker(engine, max_waiting, facts, self.stop), Limits.of(engine)
        self.listener, self.port = listener, int(listener.getsockname()[1])
        config = uvicorn.Config(
            make_app(self.worker, self.limits),
            lifespan="off",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=HARD_S,
        )
        super().__init__(config)

    def stop(self) -> None:
        """Leave soon; from any thread or a signal handler."""
        self.should_exit = True

    def work(self) -> dict[str, Any]:
        """Serve until told to stop; a fault of the engine is raised once its clients have been told."""
        with self.listener:
            self.worker.start()
            if self.worker.fault is None:
                self._announce()
                self.run(sockets=[self.listener])
        self.worker.roster.close(LATE, 0)
        if not self.worker.join(JOIN_S):
            raise SidecarError("a step did not end while the server was leaving: a card may have stalled.")
        if self.worker.fault is not None:
            raise self.worker.fault
        return {"port": self.port, "model": self.limits.model, **self.worker.health()[1]}

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then let uvicorn close what is open."""
        self.worker.roster.close(LATE, GRACE_S)
        await super().shutdown(sockets)

    def _announce(self) -> None:
        model, slots = self.limits.model, self.worker.roster.slots
        text = f"serving {model} on http://{HOST}:{self.port}/v1 (batch {slots}, {self.limits.context} tokens)"
        print(text, file=sys.stderr, flush=True)
