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
    code: int,
    limit_us: int,
    *,
    backend: Backend = "auto",
) -> None:
    """Wait until flag >= round_; after `limit_us` µs, or where fault [1] int32 is set, go on and set fault to `code`.

    Once fault is set every later wait returns at once, so that a dead partner costs one time limit, not one a layer.
    An older code is kept. code > 0.
    """
    implementation("signal", backend, round_).wait(flag, round_, fault, code, limit_us)
