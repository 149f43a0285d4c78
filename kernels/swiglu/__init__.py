"""The activation between the GEMMs of a dense expert."""

import torch

from stepprof.kernels.backends import Backend, implementation


def swiglu(both: torch.Tensor, *, limit: float = 10.0, backend: Backend = "auto") -> torch.Tensor:
    """silu(min(gate, limit)) · clamp(up, -limit, limit): both [T, 2·I] (gate, then up) -> [T, I], computed in float32."""
    return implementation("swiglu", backend, both).swiglu(both, limit)
