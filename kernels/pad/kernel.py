"""A known slow-down on the GPU: one warp that watches the GPU's clock."""

# what Triton's compiler accepts, its types do not describe
# pyright: reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch
from stepprof.kernels.signal.kernel import nanoseconds

BACKEND = "triton"


def pad(x: torch.Tensor, microseconds: float) -> None:
    """Take the time."""
    launch(pad_elementwise_kernel, (1,), x, x, NANOSECONDS=round(microseconds * 1000), PTX=x.is_cuda, num_warps=1)


@triton.jit
def pad_elementwise_kernel(x: typing.Any, NANOSECONDS: tl.constexpr, PTX: tl.constexpr):
    polls = tl.program_id(0)
    start = nanoseconds(polls, PTX)
    while nanoseconds(polls, PTX) - start < NANOSECONDS:
        polls += 1
