"""SwiGLU with limits, the truth."""

import torch


def swiglu(both: torch.Tensor, limit: float) -> torch.Tensor:
    """[T, 2·I] -> [T, I]"""
    gate, up = both.float().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate.clamp(max=limit)) * up.clamp(-limit, limit)).to(both.dtype)
