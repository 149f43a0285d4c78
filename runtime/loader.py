"""Builds tensors of the model on one device: `load("layers.3.attn.q_b", 1024, 256)`, `load.ones("norm", 256)`."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from stepprof.runtime.weights import Weights, tensor


@dataclass(frozen=True)
class Loader:
    """A source of weights, a prefix for names, and where tensors go."""

    weights: Weights
    device: torch.device
    dtype: torch.dtype
    prefix: str = ""

    def at(self, name: str) -> Loader:
        """The same with a longer prefix."""
        return Loader(self.weights, self.device, self.dtype, f"{self.prefix}{name}.")

    def __call__(self, name: str, *shape: int, std: float | None = None, exact: bool = False) -> torch.Tensor:
        """A matrix [..., out, in]; `exact` keeps float32. Random ones get a standard deviation of in^-½."""
        dtype = torch.float32 if exact else self.dtype
        spread = shape[-1] ** -0.5 if std is None else std
        return tensor(self.weights, self.prefix + name, shape, self.device, dtype, spread)

    def ones(self, name: str, *shape: int, exact: bool = False) -> torch.Tensor:
        """A norm's weight; random weights have ones."""
        return self(name, *shape, std=0.0, exact=exact)


def fill_bank(load: Loader, members: tuple[int, ...], hidden: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Experts that lie together: w_in [n, 2·I, D], w_out [n, D, I]; n is at least 1, so that an empty bank has memory."""
    room = max(1, len(members))
    w_in = torch.zeros(room, 2 * width, hidden, device=load.device, dtype=load.dtype)
    w_out = torch.zeros(room, hidden, width, device=load.device, dtype=load.dtype)
    for slot, expert in enumerate(members):
        load.weights.fill(f"{load.prefix}experts.{expert}.w_in", w_in[slot], hidden**-0.5)
        load.weights.fill(f"{load.prefix}experts.{expert}.w_out", w_out[slot], width**-0.5)
    return w_in, w_out
