"""Where and at which sizes a kernel is tested: `@pytest.mark.parametrize(("place", "size"), cases(SMALL, REAL))`.

Small, odd sizes run everywhere (CPU: interpreted, float32 and float16), those of the presets on the GPU in bfloat16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

Size = dict[str, int]


@dataclass
class Place:
    """A device and a dtype, a seeded source of numbers there, and how exact results are."""

    device: str
    dtype: torch.dtype
    generator: torch.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int, dtype: torch.dtype | None = None, std: float = 1.0) -> torch.Tensor:
        """Normal numbers; drawn on the CPU, so that both places see the same ones."""
        x = torch.randn(shape, generator=self.generator) * std
        return x.to(self.device, dtype or self.dtype)

    def uniform(self, *shape: int) -> torch.Tensor:
        """Float32 in [0, 1)."""
        return torch.rand(shape, generator=self.generator).to(self.device)

    def integers(self, low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Integers from low to high - 1."""
        return torch.randint(low, high, shape, generator=self.generator, dtype=dtype).to(self.device)

    def close(self, got: torch.Tensor, expected: torch.Tensor, *, ulps: float = 1, atol: float = 1e-6) -> None:
        """Equal but for `ulps` roundings to the dtype of the result; float32 sums may differ by 16 of them."""
        assert got.dtype == expected.dtype, f"{got.dtype=} {expected.dtype=}"
        assert got.shape == expected.shape, f"{got.shape=} {expected.shape=}"
        if not got.dtype.is_floating_point:
            assert torch.equal(got, expected), f"{got=} {expected=}"
            return
        rtol = torch.finfo(got.dtype).eps * (16 if got.dtype == torch.float32 else 1) * ulps
        torch.testing.assert_close(got.float(), expected.float(), rtol=rtol, atol=atol)


def cases(
    small: Sequence[Size], real: Sequence[Size] = (), dtypes: Sequence[str] = ("float32", "float16")
) -> list[Any]:
    """Parameters (place, size) with readable ids."""
    found = [_case("cpu", dtype, size) for dtype in dtypes for size in small]
    return found + [_case("cuda", "bfloat16", size) for size in (*small, *real)]


def _case(device: str, dtype: str, size: Size) -> Any:
    shape = "-".join(f"{letter}{n}" for letter, n in size.items())
    marks = [pytest.mark.gpu] if device == "cuda" else []
    return pytest.param(Place(device, getattr(torch, dtype)), size, id=f"{device}-{dtype}-{shape}", marks=marks)
