"""The period of a sequence of tokens: where each repeat begins, and how alike the repeats are.

Anchors are short runs of tokens that recur evenly; what lies between two occurrences of
an anchor is a segment. A period is the anchor whose segments, all alike, make the longest
stretch; among equals the shortest. Layers lose against the step around them, because the
ops between two steps break their stretch. A period counts as a step only where the host
takes part in it: most segments must hold a `host` token, or failing that a `graph` token.

    period, why_not = find_period(sequence)
    period.cut[i], period.cut[i + 1]        # tokens of segment i, a step where period.step[i]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepprof.analyses.ops import Bools, Ints

SPACINGS = 24  # candidate spacings looked at for anchors of 1, of 2 and of 4 tokens
LOOSE = 20  # one token in 20 of a step may differ from the typical step
OVERALL = 0.98  # share of all tokens of all steps that must not differ


@dataclass(frozen=True)
class Sequence:
    """Launches of one thread in order of their calls; one entry a token."""

    token: Ints  # small codes
    host: Bools  # the host waited for the GPU behind it, or it brings data to the host
    woken: Bools  # it is the first after such a wait
    graph: Bools
    gap: Ints  # ns without any op before it

    @cached_property
    def sums(self) -> np.ndarray:
        """Running sums of a random number a token: equal differences mean equal bags of tokens."""
        return np.concatenate([np.zeros(1, np.uint64), np.cumsum(random_numbers(self.token), dtype=np.uint64)])


def random_numbers(code: Ints) -> np.ndarray:
    """A 64-bit number for each code, the same in every run; sums of them tell bags of codes apart."""
    numbers = np.random.default_rng(7).integers(0, 2**64, size=code.max(initial=0) + 1, dtype=np.uint64)
    return numbers[code]


@dataclass(frozen=True)
class Period:
    """Segments between cuts, in tokens."""

    cut: Ints  # one more than segments
    step: Bools  # the segment is a step
    typical: int  # tokens of the typical step
    share: float  # of the tokens between the first and the last step that repeat
    host: bool  # most steps hold a host token


@dataclass(frozen=True)
class _Candidate:
    """The segments that one anchor makes."""

    at: Ints  # where the anchor begins
    edits: Ints  # tokens in which each segment differs from the typical one
    typical: tuple[int, int]  # first token and end of the typical segment
    stretch: int  # tokens of the longest run of alike segments
    host: bool  # most alike segments hold a host token
    graph: bool  # most alike segments hold a graph token

    @property
    def length(self) -> int:
        return self.typical[1] - self.typical[0]


def find_period(seq: Sequence) -> tuple[Period | None, str]:
    """The period that makes steps, or the end of a sentence that says why there is none."""
    found = [candidate for at in _anchors(seq.token) if (candidate := _candidate(seq, at))]
    best = _best([c for c in found if c.host]) or _best([c for c in found if c.graph])
    if best and (period := _period(seq, best)):
        return period, ""
    other = best or _best(found)
    if other is None:
        return None, "does not repeat 3 times"
    why = "too unevenly or fewer than 3 times in a row" if best else "but no host synchronization marks it as a step"
    return None, f"repeats with period {other.length}, {why}"


def _best(candidates: list[_Candidate]) -> _Candidate | None:
    """The shortest of those with the longest stretch; an anchor may miss a period at the ends."""
    longest = max((c.stretch for c in candidates), default=0)
    equal = [c for c in candidates if c.stretch + c.length >= longest]
    return min(equal, key=lambda c: (c.length, -c.stretch, int(c.edits.sum())), default=None)


def _strict(length: Ints) -> Ints:
    """Tokens in which a segment may differ and still prolong a stretch."""
    return np.where(length < 20, 0, -(-length // 50))


def _anchors(token: Ints) -> list[Ints]:
    """Places of the runs of 1, 2 and 4 tokens that recur most evenly, the best of each spacing."""
    anchors, gram = _even(token), token
    for reach in (1, 2):  # grams of 1 token become grams of 2, these grams of 4
        pair = gram[:-reach] * (gram.max(initial=0) + 1) + gram[reach:]
        gram = np.unique(pair, return_inverse=True)[1].astype(np.int64)
        anchors += _even(gram)
    return anchors


def _even(gram: Ints) -> list[Ints]:
    """Places of the grams with the longest even run, the best for each spacing."""
    order = np.argsort(gram, kind="stable")
    same = gram[order][1:] == gram[order][:-1]
    gap, group = np.diff(order)[same], gram[order][1:][same]
    count = np.bincount(group, minlength=gram.max(initial=0) + 1)
    first = np.cumsum(count) - count
    by_gap = np.lexsort((gap, group))
    often = np.flatnonzero(count >= 2)
    spacing = np.zeros(len(count), np.int64)
    spacing[often] = gap[by_gap][first[often] + count[often] // 2]
    even = (np.abs(gap - spacing[group]) <= _strict(spacing[group])) & (count[group] >= 2)
    run = np.cumsum(np.diff(group, prepend=-1).astype(bool) | ~even)
    length = np.bincount(run, weights=gap * even)
    longest = np.zeros(len(count))
    np.maximum.at(longest, group, length[run])

    ranked = often[np.argsort(-longest[often], kind="stable")]
    _, best = np.unique(np.round(50 * np.log(spacing[ranked])), return_index=True)
    starts = np.searchsorted(gram[order], np.arange(len(count) + 1))
    return [order[starts[g] : starts[g + 1]] for g in ranked[np.sort(best)[:SPACINGS]].tolist()]


def _candidate(seq: Sequence, at: Ints) -> _Candidate | None:
    bag = np.diff(seq.sums[at])
    length = np.diff(at)
    _, place, times = np.unique(bag, return_index=True, return_counts=True)
    middle = place[times.argmax()] if times.max() > 1 else np.argsort(length)[len(length) // 2]
    typical = (int(at[middle]), int(at[middle + 1]))
    edits = _edits(seq, at[:-1], at[1:], typical)
    alike = edits <= _strict(np.array(typical[1] - typical[0]))
    if not alike.any():
        return None
    run = np.cumsum(~alike)
    stretch = int(np.bincount(run, weights=length * alike).max())
    host, graph = (_mostly(flag, at, alike) for flag in (seq.host, seq.graph))
    return _Candidate(at, edits, typical, stretch, host, graph)


def _mostly(flag: Bools, cut: Ints, which: Bools) -> bool:
    """True where at least half of the segments `which` hold a flagged token."""
    total = np.concatenate([[0], np.cumsum(flag)])
    return bool(np.mean(np.diff(total[cut])[which] > 0) >= 0.5) if which.any() else False


def _edits(seq: Sequence, start: Ints, end: Ints, typical: tuple[int, int]) -> Ints:
    """For each segment the tokens it has too many or too few of, whichever are more."""
    size = typical[1] - typical[0]
    bag = seq.sums[typical[1]] - seq.sums[typical[0]]
    edits = np.maximum(end - start, size)
    edits[seq.sums[end] - seq.sums[start] == bag] = 0
    near = np.flatnonzero((edits > 0) & (np.abs(end - start - size) <= size // LOOSE))
    width = int(seq.token.max(initial=0)) + 1
    usual = np.bincount(seq.token[slice(*typical)], minlength=width)
    for i in near.tolist():
        here = np.bincount(seq.token[start[i] : end[i]], minlength=width)
        more = int(np.maximum(here - usual, 0).sum())
        edits[i] = max(more, more - int(end[i] - start[i]) + size)
    return edits


def _period(seq: Sequence, best: _Candidate) -> Period | None:
    """Segments cut where steps begin, if at least three in a row are steps."""
    cut = _cuts(seq, best, _offset(seq, best))
    edits = _edits(seq, cut[:-1], cut[1:], best.typical)
    step = edits <= best.length // LOOSE
    if not np.any(step[2:] & step[1:-1] & step[:-2]):
        return None
    size = np.diff(cut)
    if edits[step].sum() > (1 - OVERALL) * size[step].sum():
        return None
    between = slice(step.argmax(), len(step) - step[::-1].argmax())
    share = 1 - np.minimum(edits, size)[between].sum() / size[between].sum()
    return Period(cut, step, best.length, float(share), _mostly(seq.host, cut, step))


def _offset(seq: Sequence, best: _Candidate) -> int:
    """Where in a segment steps begin: behind the host's wait, with the longest idle time before it."""
    exact = best.at[:-1][best.edits == 0]
    tokens = exact[:, None] + np.arange(best.length)  # [segments, tokens]
    woken = seq.woken[tokens].mean(axis=0)
    idle = np.median(seq.gap[tokens], axis=0)
    allowed = woken >= 0.5 if woken.max() >= 0.5 else np.ones(best.length, bool)
    return int(np.where(allowed, idle, -1).argmax())


def _cuts(seq: Sequence, best: _Candidate, offset: int) -> Ints:
    """Where steps begin: `offset` behind an anchor, or as far before the next one where an odd op came first."""
    start, end = best.typical
    at, rest = best.at, best.length - offset
    ahead = np.minimum(at + offset, len(seq.token))
    back = np.append(at[1:] - rest, ahead[-1])
    as_usual = seq.sums[ahead] - seq.sums[at] == seq.sums[start + offset] - seq.sums[start]
    next_at = np.append(at[1:], ahead[-1])
    as_usual |= (back < at) | (seq.sums[next_at] - seq.sums[back] != seq.sums[end] - seq.sums[start + offset])
    cut = np.where(as_usual, ahead, back)
    more = [cut[0] - best.length, *cut, cut[-1] + best.length]
    return np.unique([c for c in more if 0 <= c <= len(seq.token)])
