"""How far the clocks of two cards may be apart, from ops that must follow each other both ways.

An op that another card's op follows ends before that one starts. The shortest such gap each way bounds the
offset: with the other card's clock ahead by θ, real gaps of at least 0 give −back ≤ θ ≤ forth, as in a
ping-pong of two hosts (Cristian's and NTP's bound). Times are used as they are, so a wait shorter than the
larger of the two may be none.

    offset = clock_offset(forth, back)
    offset.bound_ns
"""

from __future__ import annotations

from dataclasses import dataclass

from stepprof.analyses.ops import Ints


@dataclass(frozen=True)
class ClockOffset:
    """The other card's clock minus the main card's lies between these, ns."""

    low_ns: int
    high_ns: int

    @property
    def bound_ns(self) -> int:
        """The largest offset that the trace allows."""
        return max(abs(self.low_ns), abs(self.high_ns))

    @property
    def apart_ns(self) -> int:
        """The offset that the trace proves: 0 where equal clocks are possible."""
        return max(self.low_ns, -self.high_ns, 0)


def clock_offset(forth: Ints, back: Ints) -> ClockOffset | None:
    """The bound from gaps main card -> other card and back, ns; None where one way has none, or they contradict."""
    if len(forth) == 0 or len(back) == 0:
        return None
    low, high = -int(back.min()), int(forth.min())
    return ClockOffset(low, high) if low <= high else None
