"""A sequence of tokens, and how much its segments differ from a typical one.

edits = seq.edits(start, end, (0, 37))      # tokens too many or too few, by segment
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepprof.analyses.ops import Bools, Ints

LOOSE = 20  # segments in which more than one token in 20 differs have nothing in common


@dataclass(frozen=True)
class Sequence:
    """Launches of one thread in order of their calls; one entry a token."""

    token: Ints  # small codes
    host: Bools  # the host waited for the GPU behind it, or it brings data to the host
    woken: Bools  # it is the first after such a wait
    graph: Bools
    gap: Ints  # ns without any op before it

    @cached_property
    def grams(self) -> tuple[Ints, Ints, Ints]:
        """Codes of the runs of 1, 2 and 4 tokens that begin at each place."""
        pairs = _pairs(self.token, 1)
        return self.token, pairs, _pairs(pairs, 2)

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.concatenate([np.zeros(1, np.uint64), np.cumsum(random_numbers(self.token), dtype=np.uint64)])

    def bag(self, start: Ints | int, end: Ints | int) -> np.ndarray:
        """A number for what lies between places, in whatever order; arrays, as only these wrap around silently."""
        return self._sums[np.atleast_1d(end)] - self._sums[np.atleast_1d(start)]

    def edits(self, start: Ints, end: Ints, typical: tuple[int, int]) -> Ints:
        """Tokens by which each segment differs from the typical one; 0 for the same tokens in whatever order."""
        length, size = end - start, typical[1] - typical[0]
        edits = np.where(self.bag(start, end) == self.bag(*typical), 0, np.maximum(length, size))
        near = np.flatnonzero((edits > 0) & (np.abs(length - size) <= size // LOOSE))
        # bags of many tokens are alike by chance, bags of grams are not; one odd token spoils four grams
        more = self._foreign_grams(start[near], length[near], typical)
        edits[near] = -(-np.maximum(more, more + size - length[near]) // 4)
        return edits

    def _foreign_grams(self, start: Ints, length: Ints, typical: tuple[int, int]) -> Ints:
        """For each segment the number of grams that the typical one does not have, or has less often."""
        gram = self.grams[2]
        usual = np.bincount(gram[slice(*typical)], minlength=int(gram.max(initial=0)) + 1)
        segment = np.repeat(np.arange(len(start)), length)
        place = np.arange(len(segment)) + np.repeat(start - np.cumsum(length) + length, length)
        key, count = np.unique(segment * len(usual) + gram[place], return_counts=True)
        more = np.maximum(count - usual[key % len(usual)], 0)
        return np.bincount(key // len(usual), weights=more, minlength=len(start)).astype(np.int64)


def random_numbers(code: Ints) -> np.ndarray:
    """A 64-bit number for each code, the same in every run; sums of them tell bags of codes apart."""
    numbers = np.random.default_rng(7).integers(0, 2**64, size=int(code.max(initial=0)) + 1, dtype=np.uint64)
    return numbers[code]


def _pairs(gram: Ints, reach: int) -> Ints:
    """Codes of each gram with the one `reach` places on; behind the end nothing is like anything."""
    width = int(gram.max(initial=0)) + 2
    ahead = np.append(gram[reach:], np.full(min(reach, len(gram)), width - 1))
    return np.unique(gram * width + ahead, return_inverse=True)[1].astype(np.int64)
