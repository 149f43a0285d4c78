"""Times what the host queues while a kernel holds the card, so that no launch from the host is waited for.

    taken, hold = held_microseconds(run, hold)     # run(hold_ns) -> µs, or None where the hold ended too early

A hold is bounded, never a flag: where the host cannot queue more than the hold takes, the sample is thrown away and
the hold doubled.
"""

from __future__ import annotations

from collections.abc import Callable

FIRST_HOLD_NS = 300_000
LONGEST_HOLD_NS = 80_000_000


class Starved(RuntimeError):
    """The host cannot queue the work within the longest hold."""


def held_microseconds(run: Callable[[int], float | None], hold_ns: int) -> tuple[float, int]:
    """(µs, the hold that was enough); Starved where none is."""
    while hold_ns <= LONGEST_HOLD_NS:
        taken = run(hold_ns)
        if taken is not None:
            return taken, hold_ns
        hold_ns *= 2
    raise Starved(f"the host did not queue a chain within {LONGEST_HOLD_NS // 1_000_000} ms, so its time is unknown")
