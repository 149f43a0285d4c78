"""Mode `persistent` on a GPU: a kernel that never leaves the second card and polls its local memory.

The main card writes boxes and request flags over peer access; the kernel writes answers and their flags into the
main card's memory. It knows the number of rows when it starts, so a pass of another size starts it anew; while a
graph is captured it is paused, since captures give memory back, which would wait for it for ever.
"""

from __future__ import annotations

import torch

from stepprof.kernels.resident import RING, CallStamp, Job
from stepprof.kernels.resident.kernel import Resident, clock_offset
from stepprof.runtime.config import Config
from stepprof.runtime.errors import SidecarError
from stepprof.runtime.mailbox import HOST, Mailbox, layout_of
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import ColdExperts
from stepprof.runtime.sidecar_modes.posted import PostedSidecar
from stepprof.runtime.streams import Streams


class ResidentSidecar(PostedSidecar):
    """A resident kernel."""

    def __init__(self, config: Config, options: Options, experts: ColdExperts, scope: Scope, streams: Streams) -> None:
        there, main = experts.device, torch.device(options.device)
        layout = layout_of(config, options.max_rows)
        box = Mailbox(config.layers, layout, there, main, flags=(there, main))
        super().__init__(config, options, scope, streams, box)
        self.config, self.experts = config, experts
        self.stop_flag = torch.zeros(1, dtype=torch.int32, device=HOST, pin_memory=True)
        self.stream = torch.cuda.Stream(there)
        self.offset, self.bound = clock_offset(there)
        self.stamps: list[CallStamp] = []
        self.ring_full = False
        self.kernel: Resident | None = None
        # the first copy each way opens peer access, which kernels need as well
        box.inbox[0, :16].copy_(self.sent.buffer[0, :16])
        box.outbox[0, :1].copy_(torch.zeros_like(box.outbox[0, :1], device=there))

    def prepare(self, rows: int) -> None:
        """Start the kernel for passes of so many rows."""
        if self.kernel is not None and int(self.box.rows[0]) == rows:
            return
        self.pause()
        torch.cuda.synchronize(self.main)
        self.box.rows.fill_(rows)
        w_in, w_out = (list(bank) for bank in zip(*self.experts.banks, strict=True))
        job = Job(
            w_in=w_in,
            w_out=w_out,
            inbox=self.box.inbox,
            offsets=layout_of(self.config, rows).offsets,
            outbox=self.box.outbox,
            request=self.box.request,
            answer=self.box.answer,
            stop=self.stop_flag,
            top_k=self.config.top_k,
            limit=self.config.swiglu_limit,
            first_round=int(self.round) + 1,
        )
        self.kernel = Resident.start(job, self.stream)

    def pause(self) -> None:
        """Let the kernel leave; its stamps are kept."""
        if self.kernel is not None:
            self.kernel.stop()
            latest = self.kernel.calls()
            self.stamps += latest
            self.ring_full |= len(latest) == RING
            self.kernel = None

    def call_stamps(self) -> tuple[list[CallStamp], int, int]:
        """(stamps of the calls so far, ns from their clock to the host's real-time clock, bound on that)."""
        self.pause()
        return self.stamps, self.offset, self.bound

    def close(self) -> None:
        """Let the kernel leave."""
        try:
            self.pause()
        except TimeoutError as fault:
            if not self.failed:
                raise SidecarError(f"{fault}: the second card stays busy until this process ends.") from None

    def _gone(self) -> str:
        return "its kernel has ended" if self.kernel is not None and not self.kernel.running() else ""
