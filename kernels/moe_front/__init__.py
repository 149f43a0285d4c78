"""The front of a mixture layer in one kernel (`--fuse moe_front`): gate GEMM, routing, hot/cold split."""

import torch

from stepprof.kernels.backends import Backend, implementation
from stepprof.kernels.compact import Cold


def moe_front(
    x: torch.Tensor,
    gate: torch.Tensor,
    bias: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    top_k: int,
    scale: float,
    *,
    out: Cold | None = None,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor, Cold]:
    """(weights [T, A] float32, hot slots [T, A] int32, the cold rows): `route` of x · gate^T, then `split`.

    x [T, D]; gate [E, D]; bias [E] float32; hot_slot, cold_slot [E] int32. Gate logits are taken in float32.
    `out` as in `split`.
    """
    module = implementation("moe_front", backend, x)
    weights, hot, cold = module.moe_front(x, gate, bias, hot_slot, cold_slot, top_k, scale, out)
    return weights, hot, Cold(*cold)
