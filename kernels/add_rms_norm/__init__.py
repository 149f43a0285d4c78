"""Residual add and RMSNorm in one op, optionally quantised to fp8 in the same pass."""

import torch

from stepprof.kernels.backends import Backend, implementation

GROUP = 128  # elements that share one fp8 scale


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor | None = None, *, eps: float = 1e-6, backend: Backend = "auto"
) -> torch.Tensor:
    """RMSNorm over the last dimension: x [..., D], weight [D] or None -> [..., D] in x's dtype, contiguous.

    x is contiguous in its last dimension; its rows may be strided (a slice of a wider GEMM output).
    """
    return implementation("add_rms_norm", backend, x).rms_norm(x, weight, eps)


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, *, eps: float = 1e-6, backend: Backend = "auto"
) -> tuple[torch.Tensor, torch.Tensor]:
    """(RMSNorm of the sum, the sum): x, residual [T, D], weight [D] -> [T, D], [T, D] in x's dtype.

    The sum is taken in float32 and normalised before it is rounded to x's dtype.
    """
    return implementation("add_rms_norm", backend, x).add_rms_norm(x, residual, weight, eps)


def add_rms_norm_quant(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, *, eps: float = 1e-6, backend: Backend = "auto"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As `add_rms_norm`, quantised: (q [T, D] float8_e4m3fn, scale [T, ceil(D / 128)] float32, sum [T, D]).

    q · scale is the normed row; each group's scale maps its largest magnitude to 448, and is 1 where all is 0.
    """
    return implementation("add_rms_norm", backend, x).add_rms_norm_quant(x, residual, weight, eps)
