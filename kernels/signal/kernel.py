"""Flags for the GPU, with system-scope release and acquire in PTX.

A flag may lie in peer or pinned host memory, where a read by an atomic could undo the other side's write: it is only
ever loaded and stored. On the CPU (Triton's interpreter) plain accesses stand in, and polls for the clock.
"""

# what Triton's compiler accepts, its types do not describe
# pyright: reportOperatorIssue=false

import typing

import torch
import triton
import triton.language as tl

from stepprof.kernels.launch import launch

BACKEND = "triton"


def bump(round_: torch.Tensor) -> None:
    """[1] += 1"""
    launch(bump_elementwise_kernel, (1,), round_, round_, num_warps=1)


def signal(flag: torch.Tensor, round_: torch.Tensor) -> None:
    """flag = round"""
    launch(signal_kernel, (1,), round_, flag, round_, PTX=round_.is_cuda, num_warps=1)


def wait(
    flag: torch.Tensor,
    round_: torch.Tensor,
    fault: torch.Tensor,
    code: int,
    limit_us: int,
    held: torch.Tensor | None,
) -> None:
    """Poll; past the time limit set fault."""
    arguments = (flag, round_, fault, held, code)
    launch(wait_flag_kernel, (1,), round_, *arguments, LIMIT_NS=limit_us * 1000, PTX=round_.is_cuda, num_warps=1)


@triton.jit
def bump_elementwise_kernel(round_: typing.Any):
    tl.store(round_, tl.load(round_) + 1)


@triton.jit
def signal_kernel(flag: typing.Any, round_: typing.Any, PTX: tl.constexpr):
    value = tl.load(round_)
    if PTX:
        _store_release(flag, value)
    else:
        tl.store(flag, value)


@triton.jit(do_not_specialize=["code"])  # one kernel, though each layer has a code of its own
def wait_flag_kernel(
    flag: typing.Any,
    round_: typing.Any,
    fault: typing.Any,
    held: typing.Any,
    code: typing.Any,
    LIMIT_NS: tl.constexpr,
    PTX: tl.constexpr,
):
    goal = tl.load(round_)
    if held is not None:
        goal = tl.where(tl.load(held) == 0, -2147483647 - 1, goal)  # nothing was sent: every flag is high enough
    polls = goal * 0
    start = nanoseconds(polls, PTX)
    while (_load_acquire(flag, PTX) < goal) & (tl.load(fault, volatile=True) == 0):
        polls += 1
        if nanoseconds(polls, PTX) - start > LIMIT_NS:
            tl.store(fault, code)


@triton.jit
def _load_acquire(flag: typing.Any, PTX: tl.constexpr):
    if PTX:
        return tl.inline_asm_elementwise(
            "ld.acquire.sys.global.b32 $0, [$1];", "=r,l", [flag.to(tl.int64)], tl.int32, is_pure=False, pack=1
        )
    else:
        return tl.load(flag, volatile=True)


@triton.jit
def _store_release(flag: typing.Any, value: typing.Any):
    tl.inline_asm_elementwise(
        "st.release.sys.global.b32 [$1], $2; mov.b32 $0, $2;",
        "=r,l,r",
        [flag.to(tl.int64), value],
        tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def nanoseconds(polls: typing.Any, PTX: tl.constexpr):
    """The GPU's clock; without one, each of `polls` takes a microsecond."""
    if PTX:
        return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, is_pure=False, pack=1)
    else:
        return polls.to(tl.int64) * 1000
