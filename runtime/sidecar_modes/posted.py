"""The main card's side of a sidecar that runs on its own: post a box, raise a flag, wait for the answer's flag.

`PostedSidecar` is the base of `call` and `persistent`; they differ in who serves the mailbox and where it lies.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from stepprof.kernels import signal
from stepprof.kernels.compact import Cold
from stepprof.runtime.config import Config
from stepprof.runtime.errors import SidecarError
from stepprof.runtime.mailbox import Mailbox
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import Outbox
from stepprof.runtime.streams import Streams


class PostedSidecar:
    """Flags and boxes; a subclass starts the worker and says how it fares."""

    def __init__(self, config: Config, options: Options, scope: Scope, streams: Streams, box: Mailbox) -> None:
        self.scope, self.streams, self.main = scope, streams, torch.device(options.device)
        self.outbox: Outbox | None = Outbox(config, options)
        self.sent = self.outbox
        self.box = box
        self.there: Any = torch.cuda.Stream(box.inbox.device) if box.inbox.is_cuda else None
        self.limit_ms = options.limit_ms
        self.failed = False
        self.round = torch.zeros(1, dtype=torch.int32, device=self.main)
        self.fault = torch.zeros(1, dtype=torch.int32, device=self.main)
        self.back = torch.zeros(options.max_rows, config.hidden, dtype=box.outbox.dtype, device=self.main)

    def prepare(self, rows: int) -> None:
        """Tell the worker how boxes are divided; passes of another size must have ended."""
        if int(self.box.rows[0]) != rows:
            if self.main.type == "cuda":
                torch.cuda.synchronize(self.main)
            self.box.rows.fill_(rows)

    def pause(self) -> None:
        """A worker of its own keeps nobody from synchronising."""

    def begin(self, rows: int) -> None:
        """The next round."""
        with self.scope.op("infra", "elementwise"):
            signal.bump(self.round)

    def inbox(self, layer: int, rows: int) -> Cold:
        """Views of the layer's buffer on the main card."""
        return self.sent.cold(layer, rows)

    def send(self, layer: int, cold: Cold) -> None:
        """Copy the rows over and raise the request flag, beside the main stream."""
        packed = self.sent.packed(layer, len(cold.rows))
        with self._beside():
            with self.scope.sidecar(layer, "publish", "sidecar_copy", "copy", self.main):
                self.box.inbox[layer, : len(packed)].copy_(packed, non_blocking=True)
            if self.box.inbox.is_cuda and not self.box.request.is_cuda:
                with self.scope.sidecar(layer, "publish", "sidecar_copy", "copy", self.main):
                    self.box.held[layer].copy_(cold.held, non_blocking=True)
            with self.scope.sidecar(layer, "signal", "sidecar_copy", "copy", self.main):
                signal.signal(self.box.request[layer], self.round)

    def answer(self, layer: int, cold: Cold) -> torch.Tensor:
        """Wait for the flag where rows were sent, and at the last layer always: there the round ends."""
        held = cold.held if layer + 1 < self.box.layers else None
        with self._beside():
            with self.scope.sidecar(layer, "wait", "wait", "wait", self.main):
                flags = (self.box.answer[layer], self.round, self.fault)
                signal.wait(*flags, code=layer + 1, limit_us=int(self.limit_ms * 1e3), held=held)
            with self.scope.sidecar(layer, "copy_out", "sidecar_copy", "copy", self.main):
                self.back[: len(cold.rows)].copy_(self.box.outbox[layer, : len(cold.rows)], non_blocking=True)
        if self.there is not None:
            torch.cuda.current_stream(self.main).wait_stream(self.there)
        self.streams.join("sidecar")
        return self.back[: len(cold.rows)]

    def check(self) -> None:
        """Raise if a wait ran out, or the worker is gone."""
        gone = self._gone()
        code = int(self.fault)
        self.failed = bool(code or gone)
        if code:
            reason = gone or "it is there but does not answer"
            raise SidecarError(
                f"the sidecar did not answer layer {code - 1} within {self.limit_ms:g} ms ({reason}); "
                "the step's tokens were thrown away: start again, or raise --limit-ms."
            )
        if gone:
            raise SidecarError(f"the sidecar is gone ({gone}); the step's tokens were thrown away: start again.")

    def close(self) -> None:
        """Tell the worker to stop."""
        self.box.stop.fill_(1)

    @contextmanager
    def _beside(self) -> Generator[None]:
        """Run the body on the copy stream; copies to and from the second card take a stream of that card along."""
        if self.there is None:
            with self.streams.beside("sidecar"):
                yield
            return
        self.there.wait_stream(torch.cuda.current_stream(self.main))
        with torch.cuda.stream(self.there), self.streams.beside("sidecar"):
            yield

    def _gone(self) -> str:
        """Why the worker no longer runs; empty while it does."""
        raise NotImplementedError
