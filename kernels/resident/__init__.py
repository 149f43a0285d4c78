"""A kernel that never leaves the second card: it polls a flag, answers a call of cold experts, raises a flag.

    resident = Resident.start(job, stream)     # from here on it owns that card
    …                                          # the main card writes boxes and request flags, reads answers
    resident.calls()                           # stamps of the GPU's global timer
    resident.stop()                            # or it would run for ever

While it runs, nothing else may be launched on that card, and nothing there may be freed or synchronised: both
would wait for a kernel that does not end. `reference.answer` says what one call computes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

RING = 65_536  # stamps kept of one start, 3 MiB: 1,700 rounds of 38 layers


@dataclass(frozen=True)
class Job:
    """What the kernel serves; letters as in stepprof.kernels, L layers."""

    w_in: list[torch.Tensor]  # L × [n, 2·I, D] on the second card
    w_out: list[torch.Tensor]  # L × [n, D, I]
    inbox: torch.Tensor  # [L, bytes] uint8 on the second card
    offsets: tuple[int, int, int, int]  # of held, slots, weights and x in a box, in bytes
    outbox: torch.Tensor  # [L, rows, D] where answers go, any card that the second one reaches
    request: torch.Tensor  # [L, 1] int32 on the second card
    answer: torch.Tensor  # [L, 1] int32, any card that the second one reaches
    stop: torch.Tensor  # [1] int32 in pinned host memory
    top_k: int
    limit: float
    first_round: int


@dataclass(frozen=True)
class CallStamp:
    """One call: when it was seen, when up and gate were done (where that is told), when it was answered.

    In ns: of the GPU's global timer, or of the host's clock where the worker is a thread.
    """

    round: int
    layer: int
    rows: int
    seen_ns: int
    gated_ns: int | None
    answered_ns: int
