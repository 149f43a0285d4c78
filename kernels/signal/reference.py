"""Flags, the truth for the CPU: tensors in shared memory, polled."""

import time

import torch


def bump(round_: torch.Tensor) -> None:
    """[1] += 1"""
    round_ += 1


def signal(flag: torch.Tensor, round_: torch.Tensor) -> None:
    """flag = round"""
    flag.copy_(round_, non_blocking=True)


def wait(
    flag: torch.Tensor,
    round_: torch.Tensor,
    fault: torch.Tensor,
    code: int,
    limit_us: int,
    held: torch.Tensor | None,
) -> None:
    """Poll; past the time limit set fault."""
    if round_.is_cuda:
        raise NotImplementedError("waiting on the GPU needs the signal kernel: use backend='triton'.")
    if held is not None and held.item() == 0:
        return
    until = time.perf_counter() + limit_us * 1e-6
    while fault.item() == 0 and flag.item() < round_.item():
        if time.perf_counter() > until:
            fault.fill_(code)
        time.sleep(0)
