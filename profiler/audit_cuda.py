"""The CUDA driver by ctypes, for the audit's measurements: cards with memory, copies and two small kernels; no torch.

    with opened_cards() as cards:
        cards[0].enqueue_copy(cards[0].memory, cards[0].pinned, 16384); cards[0].wait()

It sets nothing that outlives the process: peer access is opened between our own contexts only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from stepprof.profiler.errors import InputError

LARGE = 256 << 20  # bytes of each buffer
PORTABLE_AND_MAPPED = 3  # CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
PEER_ALREADY_OPEN = 704
KERNELS = Path(__file__).with_name("audit_reads.ptx")
THREADS, BLOCKS = 256, 1024
Handle = ctypes.c_void_p


class CudaFault(Exception):
    """A call of the driver failed; the text is its name and number."""


@dataclass
class Card:
    """One GPU with a stream, a buffer of its own and one in pinned, mapped host memory."""

    cuda: Any
    index: int
    context: Handle
    stream: Handle = field(default_factory=Handle)
    begin: Handle = field(default_factory=Handle)
    end: Handle = field(default_factory=Handle)
    memory: int = 0
    pinned: int = 0  # host address
    mapped: int = 0  # the same memory as kernels of this card see it

    def use(self) -> None:
        """Make its context current."""
        call(self.cuda, "cuCtxSetCurrent", self.context)

    def wait(self) -> None:
        """Until all that was enqueued is done."""
        call(self.cuda, "cuStreamSynchronize", self.stream)

    def elapsed_us(self, enqueue: Callable[[], None]) -> float:
        """µs by the card's events around what `enqueue` puts on its stream."""
        taken = ctypes.c_float()
        call(self.cuda, "cuEventRecord", self.begin, self.stream)
        enqueue()
        call(self.cuda, "cuEventRecord", self.end, self.stream)
        call(self.cuda, "cuEventSynchronize", self.end)
        call(self.cuda, "cuEventElapsedTime", ctypes.byref(taken), self.begin, self.end)
        return taken.value * 1e3

    def to_card(self, size: int) -> None:
        """Enqueue a copy from pinned host memory."""
        address = ctypes.c_uint64(self.memory)
        call(self.cuda, "cuMemcpyHtoDAsync_v2", address, Handle(self.pinned), ctypes.c_size_t(size), self.stream)

    def to_host(self, size: int) -> None:
        """Enqueue a copy to pinned host memory."""
        address = ctypes.c_uint64(self.memory)
        call(self.cuda, "cuMemcpyDtoHAsync_v2", Handle(self.pinned), address, ctypes.c_size_t(size), self.stream)

    def to_peer(self, other: Card, size: int) -> None:
        """Enqueue a copy to another card."""
        target, source = ctypes.c_uint64(other.memory), ctypes.c_uint64(self.memory)
        parts = (target, other.context, source, self.context, ctypes.c_size_t(size), self.stream)
        call(self.cuda, "cuMemcpyPeerAsync", *parts)

    def open_peer(self, other: Card) -> bool:
        """Whether kernels of this card may read the other's memory, from now on in this process."""
        possible = ctypes.c_int()
        call(self.cuda, "cuDeviceCanAccessPeer", ctypes.byref(possible), self.index, other.index)
        if possible.value:
            self.use()
            code = self.cuda.cuCtxEnablePeerAccess(other.context, 0)
            return code in (0, PEER_ALREADY_OPEN)
        return False

    def point_to_itself(self, address: int) -> None:
        """Put a pointer to itself at the start of a card's memory, so that a chain of reads never leaves it."""
        value = ctypes.c_uint64(address)
        call(self.cuda, "cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.byref(value), ctypes.c_size_t(8))

    def chase(self, address: int, count: int) -> None:
        """Enqueue `count` reads by one thread, each at the address that the one before returned."""
        self._launch("chase", 1, 1, ctypes.c_uint64(address), ctypes.c_uint64(self.memory + 64), ctypes.c_uint64(count))

    def read(self, address: int, size: int) -> None:
        """Enqueue a kernel that reads `size` bytes, 16 at a time, with many threads."""
        words = ctypes.c_uint64(size // 16)
        self._launch("sweep", BLOCKS, THREADS, ctypes.c_uint64(address), ctypes.c_uint64(self.memory + 64), words)

    @cached_property
    def _module(self) -> Handle:
        self.use()
        module = Handle()
        call(self.cuda, "cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(KERNELS.read_bytes()))
        return module

    def _launch(self, name: str, blocks: int, threads: int, *arguments: Any) -> None:
        function = Handle()
        call(self.cuda, "cuModuleGetFunction", ctypes.byref(function), self._module, name.encode())
        parameters = (Handle * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        shape = (blocks, 1, 1, threads, 1, 1, 0)
        call(self.cuda, "cuLaunchKernel", function, *shape, self.stream, parameters, None)


@contextmanager
def opened_cards() -> Generator[list[Card]]:
    """All GPUs that the driver shows; InputError where there is none or a call fails."""
    cuda = _driver()
    cards: list[Card] = []
    try:
        pinned = Handle()
        for index in range(_count(cuda)):
            context = Handle()
            call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
            cards.append(Card(cuda, index, context))
            cards[-1].use()
            if not pinned.value:
                size = ctypes.c_size_t(LARGE)
                call(cuda, "cuMemHostAlloc", ctypes.byref(pinned), size, PORTABLE_AND_MAPPED)
            _furnish(cards[-1], pinned)
        yield cards
    except CudaFault as fault:
        raise InputError(f"nothing could be measured ({fault}): free the GPUs and try again.") from None
    finally:
        for card in cards:
            cuda.cuDevicePrimaryCtxRelease_v2(card.index)


def call(cuda: Any, name: str, *arguments: Any) -> None:
    """Call the driver; CudaFault where it says no."""
    code = getattr(cuda, name)(*arguments)
    if code:
        raise CudaFault(f"{name} failed with CUDA error {code}")


def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise InputError(
            "--measure needs an NVIDIA GPU, and no driver is installed here: run stepprof audit without it."
        ) from None


def _count(cuda: Any) -> int:
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise InputError("--measure needs an NVIDIA GPU, and the driver shows none: run stepprof audit without it.")
    return count.value


def _furnish(card: Card, pinned: Handle) -> None:
    memory, mapped = ctypes.c_uint64(), ctypes.c_uint64()
    call(card.cuda, "cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(LARGE))
    call(card.cuda, "cuMemHostGetDevicePointer_v2", ctypes.byref(mapped), pinned, 0)
    call(card.cuda, "cuStreamCreate", ctypes.byref(card.stream), 1)  # does not wait for the default stream
    for event in (card.begin, card.end):
        call(card.cuda, "cuEventCreate", ctypes.byref(event), 0)
    card.memory, card.pinned, card.mapped = memory.value, pinned.value or 0, mapped.value
