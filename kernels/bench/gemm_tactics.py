"""The products that `bench gemm` compares, their operands, and the persistent cache of what was compiled for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from stepprof.kernels import dense_gemm

BACKENDS = ("torch", "triton")


@dataclass(frozen=True)
class Product:
    """One way to multiply: run(x [T, K], w [N, K]) -> [T, N]"""

    name: str
    run: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Operands:
    """Inputs of one shape at one number of rows; each layer has weights of its own, which no cache holds from before."""

    name: str
    x: torch.Tensor  # [T, K]
    weights: tuple[torch.Tensor, ...]  # [N, K] each

    @classmethod
    def make(cls, shape: tuple[int, int], rows: int, device: torch.device, layers: int) -> Operands:
        """Normal numbers, in bfloat16 on a GPU; more weights than four times the L2 cache where one shape is small."""
        (n, k), dtype = shape, torch.bfloat16 if device.type == "cuda" else torch.float32
        x = torch.randn(rows, k, dtype=dtype, device=device)
        count = layers
        if device.type == "cuda":
            cache = torch.cuda.get_device_properties(device).L2_cache_size
            count = max(layers, min(64, 4 * cache // (n * k * dtype.itemsize) + 1))
        return cls(f"{n}x{k}", x, tuple(torch.randn(n, k, dtype=dtype, device=device) for _ in range(count)))

    @property
    def bytes_read(self) -> int:
        """Of one product."""
        return self.x.nbytes + self.weights[0].nbytes

    def call(self, product: Product, layer: int) -> Callable[[], Any]:
        """One product, bound."""
        return partial(product.run, self.x, self.weights[layer])

    def calls(self, product: Product) -> list[Callable[[], Any]]:
        """One with each weight."""
        return [self.call(product, layer) for layer in range(len(self.weights))]


def tactics_of(backends: Sequence[str], device: torch.device) -> list[Product]:
    """All products of these backends on this device; the CPU has torch's only."""
    found: list[Product] = []
    for backend in backends:
        if device.type != "cuda":
            found += [Product("torch", torch.nn.functional.linear)] if backend == "torch" else []
        elif backend == "torch":
            found += [Product(f"torch {library}", partial(_linear, library)) for library in ("cublaslt", "cublas")]
        else:
            found += [Product(f"triton {tactic}", partial(_triton, tactic)) for tactic in dense_gemm.tactics()]
    return found


def _linear(library: str, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """torch's product by that library's heuristic; which library is asked stays set for no other call."""
    prefer: Any = torch.backends.cuda.preferred_blas_library
    before = prefer()
    prefer(library)
    try:
        return torch.nn.functional.linear(x, w)
    finally:
        prefer(before)


def _triton(tactic: dense_gemm.Tactic, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return dense_gemm.linear(x, w, tactic, backend="triton")


def cache_entries() -> int:
    """How many kernels Triton's persistent cache holds (TRITON_CACHE_DIR)."""
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
