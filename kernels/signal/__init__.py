"""Flags between cards and processes: raise one, wait for one with a time limit.

A flag is an int32 that only grows; it lies in memory that both sides reach (peer memory, pinned host memory, or,
on the CPU, a shared tensor). Its value is the number of the round, so a graph that is replayed never meets an old one.
"""

import torch

from stepprof.kernels.backends import Backend, implementation


def bump(round_: torch.Tensor, *, backend: Backend = "auto") -> None:
    """The next round: round_ [1] int32 += 1, in place, on the device."""
    implementation("signal", backend, round_).bump(round_)


def signal(flag: torch.Tensor, round_: torch.Tensor, *, backend: Backend = "auto") -> None:
    """flag [1] int32 = round_ [1] int32, visible to the whole system after all earlier writes of the stream."""
    implementation("signal", backend, round_).signal(flag, round_)


def wait(
    flag: torch.Tensor,
    round_: torch.Tensor,
    fault: torch.Tensor,
    *,
    code: int,
    limit_us: int,
    held: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> None:
    """Wait until flag >= round_; after `limit_us` µs set fault to `code` and go on. All tensors [1] int32; code > 0.

    Goes on at once where fault is set already, so that a dead partner costs one time limit and not one a layer (the
    first code stays), and where `held`, if given, is 0: nothing was sent.
    """
    implementation("signal", backend, round_).wait(flag, round_, fault, code, limit_us, held)
