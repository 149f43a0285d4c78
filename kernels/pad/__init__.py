"""A known slow-down (`--pad-op`): one more op that takes a given time and changes nothing."""

import torch

from stepprof.kernels.backends import Backend, implementation


def pad(x: torch.Tensor, microseconds: float, *, backend: Backend = "auto") -> None:
    """Take `microseconds` on x's device, in its current stream; x, of any shape, is left as it is."""
    implementation("pad", backend, x).pad(x, microseconds)
