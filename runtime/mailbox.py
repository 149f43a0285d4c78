"""Memory that main and sidecar share: packed rows one way, answers the other, flags for both.

`Layout` divides one buffer, sent whole, into the parts of `Cold`. `Mailbox` is what a separate worker and the main
program share: for each layer a box of its own, a request flag, and an answer flag. A flag holds the number of the
last round (one pass of the model) that asked or answered. The main program waits for the last layer's answer in
every round, so no box is written while the worker still reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from stepprof.kernels.compact import Cold
from stepprof.runtime.config import Config

ALIGN = 16
HOST = torch.device("cpu")


@dataclass(frozen=True)
class Layout:
    """Parts of a box for T rows; `held`, `rows` and `slots` come first and make up its head."""

    rows: int
    hidden: int
    top_k: int
    dtype: torch.dtype

    @cached_property
    def _parts(self) -> list[tuple[tuple[int, ...], torch.dtype, int]]:
        """(shape, dtype, offset) of held, rows, slots, weights, x."""
        pairs = ((self.rows, self.top_k), torch.int32), ((self.rows, self.top_k), torch.float32)
        shapes = [((1,), torch.int32), ((self.rows,), torch.int32), *pairs, ((self.rows, self.hidden), self.dtype)]
        parts: list[tuple[tuple[int, ...], torch.dtype, int]] = []
        offset = 0
        for shape, dtype in shapes:
            parts.append((shape, dtype, offset))
            offset += _padded(shape, dtype)
        return parts

    @cached_property
    def size(self) -> int:
        """Bytes of a box."""
        shape, dtype, offset = self._parts[-1]
        return offset + _padded(shape, dtype)

    @cached_property
    def head(self) -> int:
        """Bytes that say which rows and experts there are."""
        return self._parts[3][2]

    @cached_property
    def offsets(self) -> tuple[int, int, int, int]:
        """Where held, slots, weights and x begin, in bytes."""
        held, _, slots, weights, x = (offset for _, _, offset in self._parts)
        return held, slots, weights, x

    def views(self, box: torch.Tensor) -> Cold:
        """The parts of a box, a uint8 tensor of at least `size` bytes."""
        held, rows, slots, weights, x = (_view(box, *part) for part in self._parts)
        return Cold(x, slots, weights, rows, held)


class Mailbox:
    """Boxes and flags of all layers."""

    def __init__(
        self,
        layers: int,
        layout: Layout,
        there: torch.device,
        back: torch.device,
        flags: tuple[torch.device, torch.device] = (HOST, HOST),
    ) -> None:
        """Boxes lie `there` and answers `back`; requests and answers have flags of their own."""
        self.layers = layers
        self.inbox = torch.zeros(layers, layout.size, dtype=torch.uint8, device=there)  # [L, bytes] main -> sidecar
        self.outbox = torch.zeros(layers, layout.rows, layout.hidden, dtype=layout.dtype, device=back)  # [L, T, D]
        self.request = torch.zeros(layers, 1, dtype=torch.int32, device=flags[0])
        self.answer = torch.zeros(layers, 1, dtype=torch.int32, device=flags[1])
        self.held = torch.zeros(layers, 1, dtype=torch.int32)  # rows of a call, for a host that boxes are far from
        self.rows = torch.zeros(1, dtype=torch.int32)  # T of the coming round
        self.stop = torch.zeros(1, dtype=torch.int32)
        self.ready = torch.zeros(1, dtype=torch.int32)

    def host_parts(self) -> list[torch.Tensor]:
        """What lies in host memory."""
        parts = [self.request, self.answer, self.held, self.rows, self.stop, self.ready, self.inbox, self.outbox]
        return [part for part in parts if not part.is_cuda]

    def share(self) -> None:
        """Move host memory to where another process can reach it."""
        for part in self.host_parts():
            part.share_memory_()

    def pin(self) -> None:
        """Let the GPU reach host memory; each process does this for itself."""
        for part in self.host_parts():
            code = _cudart().cudaHostRegister(part.data_ptr(), part.nbytes, 3)  # portable, mapped
            torch.cuda.check_error(int(code))

    def unpin(self) -> None:
        """Undo `pin`."""
        for part in self.host_parts():
            _cudart().cudaHostUnregister(part.data_ptr())


def layout_of(config: Config, rows: int) -> Layout:
    """The layout of a pass of so many rows."""
    return Layout(rows, config.hidden, config.top_k, getattr(torch, config.dtype))


def _cudart() -> Any:
    return torch.cuda.cudart()


def _padded(shape: tuple[int, ...], dtype: torch.dtype) -> int:
    size = dtype.itemsize
    for n in shape:
        size *= n
    return -(-size // ALIGN) * ALIGN


def _view(box: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, offset: int) -> torch.Tensor:
    count = 1
    for n in shape:
        count *= n
    return box[offset : offset + count * dtype.itemsize].view(dtype).view(shape)
