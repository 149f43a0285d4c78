"""What the resident kernel answers to one call, the truth."""

import torch

from stepprof.kernels.expert_gemm.reference import down, reduce, up_gate


def answer(
    x: torch.Tensor,
    slots: torch.Tensor,
    weights: torch.Tensor,
    held: torch.Tensor,
    w_in: torch.Tensor,
    w_out: torch.Tensor,
    limit: float,
) -> torch.Tensor:
    """x [T, D], slots and weights [T, A], held [1], w_in [n, 2·I, D], w_out [n, D, I] -> [T, D]; h stays float32."""
    h = up_gate(x.float(), slots, w_in, limit, held)
    return reduce(down(h, slots, weights, w_out, held), x.dtype, None, held)
