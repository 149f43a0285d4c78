"""CUDA sources compiled for the current card by NVRTC, which torch brings along.

kernel = compiled(source, "name", {"BF16": 1})
kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[tensor], stream=stream)
kernel.func        # the driver's handle, for stepprof.kernels.driver
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def compiled(source: str, name: str, defines: Mapping[str, int] | None = None) -> Any:
    """The kernel `name` of a source with extern "C" kernels; NotImplementedError with the way out where that fails."""
    compile_kernel: Any = getattr(torch.cuda, "_compile_kernel", None)
    if compile_kernel is None:
        raise NotImplementedError(
            "kernels in CUDA need torch 2.9 or newer (the sidecar has --sidecar-mode graph and call without)."
        )
    words = "".join(f"#define {word} {value}\n" for word, value in (defines or {}).items())
    try:
        # some versions of torch put `extern "C"` before a source that does not begin with it
        return compile_kernel(f'extern "C" {{}}\n{words}{source}', name)
    except OSError as fault:
        raise NotImplementedError(f"kernels in CUDA cannot be compiled here ({fault}): set CUDA_HOME.") from None
