"""Two sequences of tokens side by side: which entry of the one is which of the other.

    align(source, target)       # for each target entry the source's place, UNKNOWN (-1) where none

Equal sequences map one to one. Others by a longest common subsequence, found bit-parallel:
a row of the table of lengths is one whole number of as many bits as the source has entries
(Hyyrö 2004), so that 1,400 x 1,400 takes some milliseconds. What two sequences begin and
end with alike is taken off first.
"""

from __future__ import annotations

import numpy as np

from stepprof.analyses.ops import UNKNOWN, Ints

MOST_BYTES = 256 << 20  # of kept rows; longer sequences without anything in common stay unaligned


def align(source: Ints, target: Ints) -> Ints:
    """Places in `source` of each entry of `target`, in rising order."""
    result = np.full(len(target), UNKNOWN, dtype=np.int64)
    head = _alike(source, target)
    tail = _alike(source[head:][::-1], target[head:][::-1])
    result[:head] = np.arange(head)
    result[len(target) - tail :] = np.arange(len(source) - tail, len(source))
    middle, rest = slice(head, len(target) - tail), source[head : len(source) - tail]
    inner = np.array(_common(rest.tolist(), target[middle].tolist()), dtype=np.int64)
    result[middle] = np.where(inner == UNKNOWN, UNKNOWN, inner + head)
    return result


def _alike(source: Ints, target: Ints) -> int:
    """How many entries two sequences have in common from their beginning on."""
    size = min(len(source), len(target))
    different = np.flatnonzero(source[:size] != target[:size])
    return int(different[0]) if len(different) else size


def _common(source: list[int], target: list[int]) -> list[int]:
    """A longest common subsequence: for each target entry the source's place or UNKNOWN."""
    places = [UNKNOWN] * len(target)
    width = len(source) // 8 + 1
    if not source or len(target) * width > MOST_BYTES:
        return places
    rows = _rows(source, target, width)
    i, j = len(target) - 1, len(source) - 1
    while i >= 0 and j >= 0:
        if not _grows(rows[i + 1], j):
            j -= 1
        elif _grows(rows[i], j):
            i -= 1
        else:
            places[i] = j
            i, j = i - 1, j - 1
    return places


def _rows(source: list[int], target: list[int], width: int) -> list[bytes]:
    """For each number of target entries the bits of the table's row; 0 where the length grows at that source entry."""
    where: dict[int, int] = {}
    for j, token in enumerate(source):
        where[token] = where.get(token, 0) | 1 << j
    full = (1 << 8 * width) - 1
    row = full
    rows = [row.to_bytes(width, "little")]
    for token in target:
        met = row & where.get(token, 0)
        row = (row + met | row - met) & full
        rows.append(row.to_bytes(width, "little"))
    return rows


def _grows(row: bytes, j: int) -> bool:
    return not row[j >> 3] >> (j & 7) & 1
