"""A kernel's name in a few words, for tables: the part that tells it from others.

    short_name("void at::native::elementwise_kernel<128, 4, …direct_copy_kernel_cuda(…)…>(…)")
    # 'direct_copy_kernel_cuda'

Wrappers of ATen and CUTLASS say nothing by themselves, so their argument is shown.
"""

from __future__ import annotations

import re

from stepprof.analyses.names import readable

SEARCHED = 4096  # characters of a name that are looked at
_WRAPPERS = re.compile(
    r"(vectorized|unrolled|index|legacy)?_?elementwise_kernel(_with_index|_manual_unroll)?|reduce_kernel|device_kernel"
    r"|distribution_elementwise_grid_stride_kernel|gpu_kernel_impl(_nocast)?|[AB]UnaryFunctor|BinaryFunctor|func_wrapper_t"
    r"|multi_tensor_apply_kernel|Kernel2?"
)
_TELLING = re.compile(
    r"\b\w*(?:_kernel\w*|[a-z]Functor\w*|CUDAFunctor\w*|_functor|[a-z]Ops|GemmUniversal\w*|Fwd\w*|_out)\b"
)


def short_name(name: str, limit: int = 48) -> str:
    """At most `limit` characters; control characters are dropped."""
    text = readable(name[:SEARCHED])
    text = re.sub(r"\(anonymous namespace\)|<unnamed>", "", text).removeprefix("void ")
    head = re.match(r"[^<(\[]*", text)
    own = (head.group() if head else text).strip().split("::")[-1].split(" ")[-1]
    if text.startswith("["):
        own = text.split("]")[0] + "]"
    if _WRAPPERS.fullmatch(own):
        own = _argument(text) or own
    return "".join(c for c in own or text if c.isprintable())[:limit]


def _argument(text: str) -> str | None:
    """The first telling identifier behind a wrapper's name."""
    found = (m.group() for m in _TELLING.finditer(text))
    return next((word for word in found if not _WRAPPERS.fullmatch(word)), None)
