"""Mode `persistent`: a worker that stays on the sidecar and serves its own memory.

On the CPU it is a thread that runs the very protocol: poll a box in local memory, compute, answer, stamp the call.
On a GPU it is a resident kernel (resident.py).
"""

from __future__ import annotations

import threading

from stepprof.kernels.resident import CallStamp
from stepprof.runtime.config import Config
from stepprof.runtime.mailbox import Mailbox, layout_of
from stepprof.runtime.options import Options
from stepprof.runtime.scope import Scope
from stepprof.runtime.sidecar import ColdExperts
from stepprof.runtime.sidecar_modes.posted import PostedSidecar
from stepprof.runtime.sidecar_modes.worker import Worker
from stepprof.runtime.streams import Streams


class PersistentSidecar(PostedSidecar):
    """A resident worker of this process."""

    def __init__(self, config: Config, options: Options, experts: ColdExperts, scope: Scope, streams: Streams) -> None:
        there = experts.device
        box = Mailbox(config.layers, layout_of(config, options.max_rows), there, there)
        super().__init__(config, options, scope, streams, box)
        main = threading.main_thread()
        # the scope of another thread, so that ranges and phases do not mix with those of the step
        experts.scope = Scope(experts.device, options.pads)
        self.worker = Worker(self.box, experts, config, None, main.is_alive, record=True)
        self.ring_full = False  # its list grows
        self.fault_of_worker = ""
        self.thread = threading.Thread(target=self._serve, name="sidecar", daemon=True)
        self.thread.start()

    def call_stamps(self) -> tuple[list[CallStamp], int, int]:
        """(stamps of all calls so far, ns from their clock to the host's real-time clock, bound on that)."""
        return list(self.worker.times), 0, 0

    def close(self) -> None:
        """Stop the thread."""
        super().close()
        self.thread.join(timeout=5)

    def _serve(self) -> None:
        try:
            self.worker.run()
        except Exception as fault:  # told to the main thread, which raises it at the next check
            self.fault_of_worker = f"{type(fault).__name__}: {fault}"

    def _gone(self) -> str:
        if self.thread.is_alive():
            return ""
        return self.fault_of_worker or "its thread has ended"
