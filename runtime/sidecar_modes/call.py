"""Mode `call`: a second process that wakes on a flag in host memory and launches on the second card.

The process loads its cold experts itself. `--link host` keeps boxes in pinned host memory, `--link peer` on the
second card, where the main card writes and reads them directly. The process leaves when told to, and when its
parent is gone.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import torch
import torch.multiprocessing as multiprocessing

from stepprof.runtime.config import Config
from stepprof.runtime.errors import SidecarError
from stepprof.runtime.mailbox import HOST, Mailbox, layout_of
from stepprof.runtime.options import Options
from stepprof.runtime.placement import Placement
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar_modes.experts import load_cold_experts
from stepprof.runtime.sidecar_modes.posted import PostedSidecar
from stepprof.runtime.sidecar_modes.worker import Worker
from stepprof.runtime.streams import Streams
from stepprof.runtime.weights import Weights

START_LIMIT_S = 300.0


@dataclass(frozen=True)
class Job:
    """All that the second process needs."""

    config: Config
    options: Options
    weights: Weights
    placement: Placement
    parent: int


class CallSidecar(PostedSidecar):
    """A worker process."""

    def __init__(
        self,
        config: Config,
        options: Options,
        weights: Weights,
        placement: Placement,
        scope: Scope,
        streams: Streams,
    ) -> None:
        there = torch.device(options.sidecar_device)
        peer = options.link == "peer" and there.type == "cuda"
        lies = there if peer else HOST
        super().__init__(
            config, options, scope, streams, Mailbox(config.layers, layout_of(config, options.max_rows), lies, lies)
        )
        self.box.share()
        if self.main.type == "cuda":
            self.box.pin()
        job = Job(config, options, weights, placement, os.getpid())
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=serve, args=(job, self.box), name="sidecar", daemon=True)
        self.process.start()
        self._wait_until_ready()

    def close(self) -> None:
        """Stop the process, by force if it must be."""
        super().close()
        self.process.join(timeout=0 if self.failed else 5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        if self.main.type == "cuda" and self._at_rest():  # a card that has stalled would never let go
            self.box.unpin()

    def _at_rest(self) -> bool:
        """Whether the main card has finished what it was given; a failed one gets a second for it."""
        if not self.failed:
            torch.cuda.synchronize(self.main)
            return True
        done = torch.cuda.Event()
        done.record(torch.cuda.current_stream(self.main))
        until = time.monotonic() + 1.0
        while not done.query() and time.monotonic() < until:
            time.sleep(0.01)
        return done.query()

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_LIMIT_S
        while not self.box.ready[0]:
            if gone := self._gone():
                raise SidecarError(f"the sidecar process could not start ({gone}); its own message is above.")
            if time.monotonic() > until:
                self.close()
                raise SidecarError(
                    f"the sidecar process was not ready within {START_LIMIT_S:g} s: try a smaller preset."
                )
            time.sleep(0.01)

    def _gone(self) -> str:
        code = self.process.exitcode
        if code is None:
            return ""
        return f"process {self.process.pid} was killed by signal {-code}" if code < 0 else f"it left with code {code}"


def serve(job: Job, box: Mailbox) -> None:
    """The second process."""
    device = torch.device(job.options.sidecar_device)
    torch.set_num_threads(1)
    there = None
    if device.type == "cuda":
        torch.cuda.set_device(device)
        box.pin()
        there = None if box.inbox.is_cuda else torch.zeros_like(box.inbox[0], device=device)
    with torch.no_grad():
        experts = load_cold_experts(
            job.config, job.options, job.weights, job.placement, Scope(device, job.options.pads)
        )
        Worker(box, experts, job.config, there, lambda: os.getppid() == job.parent).run()
