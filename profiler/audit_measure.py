"""What copies between host and cards take here: `stepprof audit --measure`, through the CUDA driver alone.

    with opened_cards() as cards:
        found = measured(ways(cards))

A latency is one small copy from its enqueueing until the host sees it done; queued is one of many in a row, by the
card's events; a bandwidth is that of large copies. All are medians. Reads are those of kernels: of host memory mapped
into the card, and of another card's memory where there is peer access.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

from stepprof.profiler.audit_cuda import LARGE, Card

SMALL = 16 << 10  # bytes, about a call's rows
SMALL_ROUNDS, QUEUED, QUEUED_ROUNDS, LARGE_ROUNDS, WARM_UP = 300, 100, 9, 7, 20
CHASED = 2000  # reads in a row
MEANING = {
    "latency_us": "one small copy, from the host's call until the host sees it done",
    "queued_us": "one small copy of many in a row, by the card's events",
    "bandwidth_gb_per_s": "large copies",
    "read_latency_us": "one read by a kernel, each waiting for the one before",
    "read_bandwidth_gb_per_s": "a kernel that reads with many threads",
}


class Stream(Protocol):
    """Where work is enqueued and timed."""

    def use(self) -> None: ...
    def wait(self) -> None: ...
    def elapsed_us(self, enqueue: Callable[[], None]) -> float: ...


@dataclass(frozen=True)
class Way:
    """A way for bytes: `copy` enqueues so many of them; `chase` so many reads in a row, each of 8 bytes."""

    name: str  # host_to_card, card_to_host, card_to_card, mapped, peer
    gpu: str  # "0", or "0 to 1"
    stream: Stream
    copy: Callable[[int], None]
    chase: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Measured:
    """One measured fact."""

    name: str
    gpu: str
    value: float
    unit: str
    bytes: int
    meaning: str
    kind: str = "measured"


def ways(cards: list[Card]) -> Iterator[Way]:
    """All ways between these cards and the host; peer reads only where the driver allows them."""
    for card in cards:
        gpu = str(card.index)
        yield Way("host_to_card", gpu, card, card.to_card)
        yield Way("card_to_host", gpu, card, card.to_host)
        ctypes.c_uint64.from_address(card.pinned).value = card.mapped
        yield Way("mapped", gpu, card, partial(card.read, card.mapped), partial(card.chase, card.mapped))
        for other in cards:
            if other is not card:
                yield from _between(card, other)


def _between(card: Card, other: Card) -> Iterator[Way]:
    gpu = f"{card.index} to {other.index}"
    peer = card.open_peer(other)
    yield Way("card_to_card", gpu, card, partial(card.to_peer, other))
    if peer:
        other.use()
        card.point_to_itself(other.memory)
        yield Way("peer", gpu, card, partial(card.read, other.memory), partial(card.chase, other.memory))


def measured(found: Iterator[Way], clock_ns: Callable[[], int] = time.perf_counter_ns) -> list[Measured]:
    """All figures of all ways, one way after the other."""
    results: list[Measured] = []
    for way in found:
        way.stream.use()
        results += _copies(way, clock_ns) if way.chase is None else _reads(way, way.chase)
    return results


def _copies(way: Way, clock_ns: Callable[[], int]) -> list[Measured]:
    for _ in range(WARM_UP):
        _once(way, clock_ns)
    alone = statistics.median(_once(way, clock_ns) for _ in range(SMALL_ROUNDS))

    def many() -> None:
        for _ in range(QUEUED):
            way.copy(SMALL)

    queued = statistics.median(way.stream.elapsed_us(many) for _ in range(QUEUED_ROUNDS)) / QUEUED
    return [
        _fact(way, "latency_us", alone, SMALL),
        _fact(way, "queued_us", queued, SMALL),
        _fact(way, "bandwidth_gb_per_s", _bandwidth(way), LARGE),
    ]


def _reads(way: Way, chase: Callable[[int], None]) -> list[Measured]:
    # first, since the pointer that it follows lies in the buffer
    alone = [way.stream.elapsed_us(lambda: chase(CHASED)) / CHASED for _ in range(QUEUED_ROUNDS)]
    return [
        _fact(way, "read_latency_us", statistics.median(alone), 8),
        _fact(way, "read_bandwidth_gb_per_s", _bandwidth(way), LARGE),
    ]


def _once(way: Way, clock_ns: Callable[[], int]) -> float:
    start = clock_ns()
    way.copy(SMALL)
    way.stream.wait()
    return (clock_ns() - start) / 1e3


def _bandwidth(way: Way) -> float:
    """GB/s, the first round not counted."""
    times = [way.stream.elapsed_us(lambda: way.copy(LARGE)) for _ in range(LARGE_ROUNDS)]
    return LARGE / statistics.median(times[1:]) / 1e3


def _fact(way: Way, what: str, value: float, size: int) -> Measured:
    unit = "GB/s" if what.endswith("gb_per_s") else "µs"
    return Measured(f"{way.name}_{what}", way.gpu, value, unit, size, MEANING[what])


def measured_document(found: list[Measured]) -> list[dict[str, Any]]:
    """As `--json` prints them."""
    return [asdict(fact) for fact in found]
