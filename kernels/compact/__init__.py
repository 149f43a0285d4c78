"""Split routed rows into hot (this card) and cold (the sidecar), and compact the cold ones.

Shapes never depend on data: the cold part has room for all T rows and says how many it holds.
"""

from typing import NamedTuple

import torch

from stepprof.kernels.backends import Backend, implementation


class Cold(NamedTuple):
    """Rows with at least one cold expert, in their old order; beyond `held` rows of x and weights are undefined."""

    x: torch.Tensor  # [T, D] their inputs
    slots: torch.Tensor  # [T, A] int32 slots of the cold bank, -1: not cold, and everywhere beyond held
    weights: torch.Tensor  # [T, A] float32
    rows: torch.Tensor  # [T] int32 where each came from, -1 beyond held
    held: torch.Tensor  # [1] int32, how many


def split(
    x: torch.Tensor,
    weights: torch.Tensor,
    experts: torch.Tensor,
    hot_slot: torch.Tensor,
    cold_slot: torch.Tensor,
    *,
    out: Cold | None = None,
    backend: Backend = "auto",
) -> tuple[torch.Tensor, Cold]:
    """(hot slots [T, A] int32, -1 where cold; the cold rows).

    x [T, D]; weights [T, A] float32; experts [T, A] int32; hot_slot, cold_slot [E] int32: where an expert lies in
    either bank, -1 where it does not. Every expert is in exactly one. The cold rows are written to `out` where it is
    given (views of one buffer that is sent as a whole; each is contiguous and starts at a multiple of 16 bytes).
    """
    hot, cold = implementation("compact", backend, x).split(x, weights, experts, hot_slot, cold_slot, out)
    return hot, Cold(*cold)


def add_rows(out: torch.Tensor, y: torch.Tensor, rows: torch.Tensor, *, backend: Backend = "auto") -> torch.Tensor:
    """out [T, D] plus the sidecar's answers: out[rows[i]] += y[i] where rows[i] >= 0; y [T, D], rows [T] int32.

    Rows are distinct, y is undefined where rows[i] is -1. Returns a new tensor in out's dtype.
    """
    return implementation("compact", backend, out).add_rows(out, y, rows)


def impose(
    experts: torch.Tensor,
    cold: torch.Tensor,
    hot_list: torch.Tensor,
    cold_list: torch.Tensor,
    *,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Simulated routing (`--cold-rate`): [T, A] int32 where only flagged rows use a cold expert, and only one.

    experts [T, A] int32; cold [T] bool; hot_list [n], cold_list [m] int32: the experts of either bank. Column a
    becomes hot_list[(experts[t, a] + a) % n]; in flagged rows the last column becomes cold_list[experts[t, A-1] % m].
    An expert may then occur twice in a row.
    """
    return implementation("compact", backend, experts).impose(experts, cold, hot_list, cold_list)
