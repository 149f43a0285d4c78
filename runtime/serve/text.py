"""Tokens become text as they come: `feed` them one by one, `take` what may be sent.

Text that may turn out to begin a stop string is held back, and so are the first bytes of a longer character; so the
pieces of a stream add up to the text of an answer in one piece.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

BYTES = 256  # tokens from here on say nothing


class Text:
    """The text of one completion."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self.stops = stops
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.held = ""  # decoded, not yet taken

    def feed(self, token: int) -> bool:
        """Add a token; whether the text now ends at a stop string, which is cut off."""
        return self._add(bytes([token]) if token < BYTES else b"")

    def take(self) -> str:
        """What no stop string can claim any more."""
        keep = max((_overlap(self.held, stop) for stop in self.stops), default=0)
        cut = len(self.held) - keep
        ready, self.held = self.held[:cut], self.held[cut:]
        return ready

    def finish(self) -> tuple[str, bool]:
        """All that is left, and whether an unfinished character at the end made a stop string."""
        stopped = self._add(b"", final=True)
        ready, self.held = self.held, ""
        return ready, stopped

    def _add(self, part: bytes, final: bool = False) -> bool:
        self.held += self.decoder.decode(part, final)
        places = [place for stop in self.stops if (place := self.held.find(stop)) >= 0]
        if places:
            self.held = self.held[: min(places)]
            self.decoder.reset()
        return bool(places)


def _overlap(text: str, stop: str) -> int:
    """Length of the longest beginning of `stop` that `text` ends with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
