"""The NVTX vocabulary of a step, and `mark()`, which opens a range by such a name.

    with mark(step(3)), mark(verify()), mark(layer(7, "router")):
        ...                                   # the ops launched here carry this path

A range is opened only when a tool listens: an NVTX or CUDA injection, an nsys session,
or STEPPROF_MARKS=1 (nvtx), =torch (record_function, for torch.profiler) or =both.
Otherwise `mark` hands out one shared context that does nothing, and leaves a decorated
function as it is. The environment is read at the first mark; `forget_choice()` makes
the next one read it again. Names are made at capture, so what changes between graph
replays (rows, experts) goes into the facts file instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ContextDecorator, ExitStack
from functools import lru_cache
from typing import Any, Protocol, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
LISTENERS = ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID")
SWITCH = "STEPPROF_MARKS"
CHOICES = {"": (), "0": (), "1": ("nvtx",), "nvtx": ("nvtx",), "torch": ("torch",), "both": ("nvtx", "torch")}


class Mark(Protocol):
    """A range: a context manager and a decorator."""

    def __enter__(self) -> object: ...
    def __exit__(self, *fault: Any) -> object: ...
    def __call__(self, function: Function, /) -> Function: ...


def step(n: int) -> str:
    """One draft + verify + accept round."""
    return f"step/{n}"


def prefill() -> str:
    """Reading a prompt."""
    return "prefill"


def draft(j: int) -> str:
    """The j-th drafted token."""
    return f"draft/{j}"


def verify() -> str:
    """One pass of the model over the last kept token and the drafted ones."""
    return "verify"


def accept() -> str:
    """Which drafted tokens are kept, and the token after them."""
    return "accept"


def layer(i: int, role: str) -> str:
    """An op of layer i and what it is for."""
    return f"layer/{i}/{role}"


def sidecar_call(layer: int, rows: int | None = None, experts: int | None = None) -> str:
    """One use of the sidecar; counts that are not known when the range opens are left out."""
    counts = [("rows", rows), ("experts", experts)]
    return f"sidecar/{layer}" + "".join(f" {word}={n}" for word, n in counts if n is not None)


def sidecar(layer: int, phase: str) -> str:
    """A part of a sidecar call: publish, copy_in, gather, gate_up, down, reduce, copy_out, signal, wait."""
    return f"sidecar/{layer}/{phase}"


def mark(name: str) -> Mark:
    """A range called `name` around what follows, where somebody listens."""
    opener = _opener()
    return NOTHING if opener is None else opener(name)


def listening() -> bool:
    """Whether marks open ranges."""
    return _opener() is not None


def forget_choice() -> None:
    """Let the next mark read the environment again."""
    _opener.cache_clear()


class _Nothing:
    """The range nobody listens to."""

    def __enter__(self) -> None: ...

    def __exit__(self, *fault: Any) -> None: ...

    def __call__(self, function: Function, /) -> Function:
        return function


class _NvtxRange(ContextDecorator):
    """A range of NVTX's default domain, its name registered once."""

    def __init__(self, name: str) -> None:
        self.domain, self.attributes = _nvtx_event(name)

    def __enter__(self) -> None:
        self.domain.push_range(self.attributes)

    def __exit__(self, *fault: Any) -> None:
        self.domain.pop_range()


class _BothRanges(ContextDecorator):
    """A range of NVTX and one of torch.profiler."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open: list[ExitStack] = []

    def __enter__(self) -> None:
        stack = ExitStack()
        stack.enter_context(_NvtxRange(self.name))
        stack.enter_context(_record_function(self.name))
        self.open.append(stack)

    def __exit__(self, *fault: Any) -> None:
        self.open.pop().close()


@lru_cache(maxsize=1)
def _opener() -> Callable[[str], Mark] | None:
    word = os.environ.get(SWITCH, "1" if any(map(os.environ.get, LISTENERS)) else "")
    if word not in CHOICES:
        raise ValueError(
            f"{SWITCH}={word!r} is none of {', '.join(filter(None, CHOICES))}: set one of them or unset it."
        )
    openers: dict[tuple[str, ...], Callable[[str], Mark]] = {
        ("nvtx",): _NvtxRange,
        ("torch",): _record_function,
        ("nvtx", "torch"): _BothRanges,
    }
    return openers.get(CHOICES[word])


@lru_cache(maxsize=65_536)
def _nvtx_event(name: str) -> tuple[Any, Any]:
    import nvtx

    domain: Any = nvtx.get_domain(None)  # pyright: ignore[reportArgumentType]
    return domain, domain.get_event_attributes(message=name)


def _record_function(name: str) -> Any:
    from torch.profiler import record_function

    return record_function(name)


NOTHING: Mark = _Nothing()
