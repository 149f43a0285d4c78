"""One measurement: an op at a size, with as many sets of inputs as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from stepprof.kernels.shapes import Shapes


@dataclass(frozen=True)
class Bench:
    """Where inputs are made, and for which model: T rows of B sequences."""

    shapes: Shapes
    rows: int
    device: torch.device
    dtype: torch.dtype = torch.bfloat16
    batch: int = 1

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Normal numbers; on the meta device a tensor without contents."""
        return torch.randn(shape, dtype=dtype or self.dtype, device=self.device)

    def floats(self, *shape: int) -> torch.Tensor:
        """Float32 in [0, 1)."""
        return torch.rand(shape, device=self.device)

    def integers(self, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Integers from 0 to high - 1."""
        return torch.randint(0, high, shape, dtype=dtype, device=self.device)


@dataclass(frozen=True)
class Call:
    """An op with its inputs bound; `read` where it reads other than all of `inputs`, once."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    flops: int
    read: int | None = None
    written: int | None = None

    def __call__(self) -> Any:
        """Run the kernel; what it returns."""
        return self.function(*self.inputs, backend="triton")

    @property
    def bytes_read(self) -> int:
        """Counted, each input once."""
        return size(self.inputs) if self.read is None else self.read

    def bytes_written(self, result: Any) -> int:
        """Counted, results once; `result` is what the call returned."""
        return size([result]) if self.written is None else self.written


@dataclass(frozen=True)
class Case:
    """`make(i)` gives the i-th call; calls share no memory but banks of weights, of which each takes other parts."""

    op: str
    kernel: str  # the name in a trace; where an op has two kernels, the one that moves most
    make: Callable[[int], Call]


def size(parts: Iterable[Any]) -> int:
    """Bytes of all tensors, nested or not."""
    total = 0
    for part in parts:
        if isinstance(part, torch.Tensor):
            total += part.nbytes
        elif isinstance(part, (tuple, list)):
            total += size(part)
    return total
