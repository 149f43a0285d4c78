"""The loop of a sidecar that runs on its own: wake on a flag, compute, answer. Used by `call` and `persistent`.

A round is one pass of the model. Requests come layer by layer; a call without cold rows is answered at once
and nothing is launched. The loop ends when `stop` is set or nobody is left to ask.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from stepprof.kernels.compact import Cold
from stepprof.kernels.resident import CallStamp
from stepprof.profiler import marks
from stepprof.runtime.config import Config
from stepprof.runtime.mailbox import Mailbox, layout_of
from stepprof.runtime.sidecar import ColdExperts

ASK_EVERY = 2_000  # polls between two looks at whether the main program still lives
PATIENCE = 200_000  # polls without a request after which the loop naps between polls
NAP_S = 2e-4


@dataclass
class Worker:
    """Serves one mailbox. `there` is a box on the sidecar's device, None where the mailbox lies there already."""

    box: Mailbox
    experts: ColdExperts
    config: Config
    there: torch.Tensor | None
    alive: Callable[[], bool]
    record: bool = False
    times: list[CallStamp] = field(default_factory=list[CallStamp])
    polls: int = 0

    def run(self) -> None:
        """Serve rounds until told to stop."""
        self.box.ready.fill_(1)
        flags = self.box.request.numpy()  # reading a flag through numpy is ten times as fast
        round_ = 0
        while True:
            round_ += 1
            for layer in range(self.box.layers):
                while flags[layer, 0] < round_:
                    if not self._go_on():
                        return
                self._serve(layer, round_)

    def _go_on(self) -> bool:
        self.polls += 1
        if self.polls % ASK_EVERY == 0 and not self.alive():
            return False
        time.sleep(0 if self.polls < PATIENCE else NAP_S)
        return not self.box.stop[0]

    def _serve(self, layer: int, round_: int) -> None:
        rows = int(self.box.rows[0])
        layout = layout_of(self.config, rows)
        asked = layout.views(self.box.inbox[layer])
        self.polls = 0
        held = int(self.box.held[layer] if self.box.inbox.is_cuda else asked.held)
        if held > 0:
            seen = time.time_ns()
            with marks.mark(marks.sidecar_call(layer, rows=held)):
                self._answer(layer, rows, self._carried(layer, rows, asked))
            if self.record:
                self.times.append(CallStamp(round_, layer, held, seen, None, time.time_ns()))
        self.box.answer[layer] = round_

    def _carried(self, layer: int, rows: int, asked: Cold) -> Cold:
        if self.there is None:
            return asked
        layout = layout_of(self.config, rows)
        with self.experts.scope.sidecar(layer, "copy_in", "sidecar_copy", "copy", self.experts.device):
            self.there[: layout.size].copy_(self.box.inbox[layer, : layout.size], non_blocking=True)
        return layout.views(self.there)

    def _answer(self, layer: int, rows: int, cold: Cold) -> None:
        y = self.experts(layer, cold)
        with self.experts.scope.sidecar(layer, "copy_out", "sidecar_copy", "copy", self.experts.device):
            self.box.outbox[layer, :rows].copy_(y, non_blocking=True)
        if y.is_cuda:  # the flag may only follow the answer
            torch.cuda.current_stream(y.device).synchronize()
