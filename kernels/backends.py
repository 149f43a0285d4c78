"""Which implementation of an op runs: `implementation("router", backend, x).route(...)`.

`auto` is the GPU kernel for a tensor on the GPU where the op has one, else the reference.
The kernel of an op is `kernel.py`, written in Triton (`BACKEND = "triton"`) or compiled
from CUDA (`BACKEND = "cuda"`); asking for one that an op lacks is an error.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import torch

Backend = Literal["auto", "reference", "triton", "cuda"]


def implementation(op: str, backend: Backend, x: torch.Tensor) -> Any:
    """The module that holds the functions of `op` for this backend."""
    if backend == "reference" or (backend == "auto" and not (x.is_cuda and _has_kernel(op))):
        return import_module(f"stepprof.kernels.{op}.reference")
    if not _has_kernel(op):
        raise NotImplementedError(f"{op} has no GPU kernel: use backend='reference'.")
    module = import_module(f"stepprof.kernels.{op}.kernel")
    if backend not in ("auto", module.BACKEND):
        raise NotImplementedError(f"{op} has no {backend} kernel: use backend='{module.BACKEND}' or 'reference'.")
    return module


@cache
def _has_kernel(op: str) -> bool:
    return find_spec(f"stepprof.kernels.{op}.kernel") is not None
