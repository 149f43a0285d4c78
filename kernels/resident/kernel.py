"""Starts and stops the resident kernel; `kernel.cu` is compiled by NVRTC, which torch brings along."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels.nvrtc import compiled
from stepprof.kernels.resident import RING, CallStamp, Job

BACKEND = "cuda"
THREADS = 256
WORDS = 6  # of a stamp
SOURCE = Path(__file__).with_name("kernel.cu")


@dataclass(frozen=True)
class Resident:
    """A kernel that runs."""

    job: Job
    ended: Any  # an event
    stamps: torch.Tensor  # [RING, 6] int64
    kept: tuple[torch.Tensor, ...]  # memory that the kernel reads and writes

    @classmethod
    def start(cls, job: Job, stream: Any) -> Resident:
        """Launch on `stream`, a stream of the second card."""
        device = job.inbox.device
        rows, hidden = job.outbox.shape[1:]
        width = job.w_out[0].shape[2]
        if hidden % 8 or width % 8:
            raise ValueError(f"the resident kernel needs widths that 8 divides, not {hidden} and {width}.")
        with torch.cuda.device(device), torch.cuda.stream(stream):
            sync = torch.zeros(4, dtype=torch.int32, device=device)
            h = torch.zeros(rows, job.top_k, width, device=device)
            stamps = torch.zeros(RING, WORDS, dtype=torch.int64, device=device)
            banks = [torch.tensor([w.data_ptr() for w in bank], device=device) for bank in (job.w_in, job.w_out)]
            numbers = torch.tensor(_numbers(job, [*banks, sync, h, stamps]), device=device)
            kernel = _compiled(device, job.outbox.dtype, "resident_sidecar_kernel")
            blocks = torch.cuda.get_device_properties(device).multi_processor_count
            stream.synchronize()
            kernel(grid=(blocks, 1, 1), block=(THREADS, 1, 1), args=[numbers], stream=stream)
            ended = torch.cuda.Event()
            ended.record(stream)
        return cls(job, ended, stamps, (sync, h, stamps, numbers, *banks))

    def stop(self, limit_s: float = 10.0) -> None:
        """Set the flag and wait until the kernel has left."""
        self.job.stop.fill_(1)
        until = time.monotonic() + limit_s
        while not self.ended.query():
            if time.monotonic() > until:
                raise TimeoutError(f"the resident kernel did not leave within {limit_s:g} s")
        self.job.stop.fill_(0)

    def running(self) -> bool:
        """Whether it still serves."""
        return not self.ended.query()

    def calls(self) -> list[CallStamp]:
        """Stamps of the latest calls, oldest first; to be asked once it has stopped."""
        rows = [CallStamp(*row) for row in self.stamps.tolist() if row[0]]
        return sorted(rows, key=lambda call: call.seen_ns)


def _numbers(job: Job, memory: list[torch.Tensor]) -> list[int]:
    """The kernel's arguments in the order of its enum."""
    w_in, w_out, sync, h, stamps = (part.data_ptr() for part in memory)
    flags = [part.data_ptr() for part in (job.request, job.answer, job.stop)]
    addresses = [w_in, w_out, job.inbox.data_ptr(), job.outbox.data_ptr(), *flags, sync, h, stamps]
    layers, rows, hidden = job.outbox.shape
    shapes = [job.inbox.shape[1], rows * hidden, *job.offsets, layers, hidden, job.w_out[0].shape[2], job.top_k]
    (limit,) = struct.unpack("<i", struct.pack("<f", job.limit))
    return [*addresses, *shapes, limit, job.first_round, RING]


def clock_offset(device: torch.device) -> tuple[int, int]:
    """(ns to add to the global timer to get the host's real-time clock, half the width of the best bracket)."""
    kernel = _compiled(device, torch.float32, "read_clock")
    brackets: list[tuple[int, int]] = []
    with torch.cuda.device(device):
        time_ns = torch.zeros(1, dtype=torch.int64, device=device)
        for _ in range(50):
            torch.cuda.synchronize(device)
            before = time.time_ns()
            kernel(grid=(1, 1, 1), block=(1, 1, 1), args=[time_ns])
            torch.cuda.synchronize(device)
            after = time.time_ns()
            brackets.append(((after - before) // 2, (before + after) // 2 - int(time_ns)))
    bound, offset = min(brackets)
    return offset, bound


@cache
def _compiled(device: torch.device, dtype: torch.dtype, name: str) -> Any:
    with torch.cuda.device(device):
        return compiled(SOURCE.read_text(), name, {"BF16": int(dtype == torch.bfloat16)})
