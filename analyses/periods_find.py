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

import numpy as np

from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.sequence import LOOSE, Sequence

SPACINGS = 24  # candidates for each width of anchors
LEAST_SHARE = 0.5  # of the tokens from the first to the last step that repeats
OVERALL = 0.98  # share of all tokens of all steps that must not differ


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
    length: int  # tokens of the typical segment


def find_period(seq: Sequence) -> tuple[Period | None, str]:
    """The period that makes steps, or the end of a sentence that says why there is none."""
    found = _candidates(seq)
    best = _best([c for c in found if c.host]) or _best([c for c in found if c.graph])
    if best and (period := _period(seq, best)):
        return period, ""
    other = best or _best(found)
    if other is None:
        return None, "does not repeat 3 times"
    why = "too unevenly" if best else "but no wait of the host for results marks it as a step"
    return None, f"repeats with period {other.length}, {why}"


def _best(candidates: list[_Candidate]) -> _Candidate | None:
    """The shortest of those with the longest stretch; an anchor may miss a period at the ends."""
    longest = max((c.stretch for c in candidates), default=0)
    equal = [c for c in candidates if c.stretch + c.length >= longest]
    return min(equal, key=lambda c: (c.length, -c.stretch, int(c.edits.sum())), default=None)


def _strict(length: Ints) -> Ints:
    """By how many tokens the segments of one stretch may differ in length."""
    return np.where(length < 20, 0, -(-length // 50))


def _candidates(seq: Sequence) -> list[_Candidate]:
    """The candidates of all anchors, but for those too short to matter beside one found before."""
    found: list[_Candidate] = []
    longest = 0
    for run, at in sorted((x for gram in seq.grams for x in _even(gram)), key=lambda x: -x[0]):
        if 2 * run >= longest and (candidate := _candidate(seq, at)):
            found.append(candidate)
            longest = max(longest, candidate.stretch * candidate.host)
    return found


def _even(gram: Ints) -> list[tuple[int, Ints]]:
    """Grams that recur evenly, the best of each spacing: tokens of the longest even run, and all places."""
    order = np.argsort(gram, kind="stable")
    same = gram[order][1:] == gram[order][:-1]
    gap, group = np.diff(order)[same], gram[order][1:][same]
    count = np.bincount(group, minlength=gram.max(initial=0) + 1)
    often = np.flatnonzero(count >= 2)
    spacing = np.zeros(len(count), np.int64)
    spacing[often] = gap[np.lexsort((gap, group))][(np.cumsum(count) - count // 2 - 1)[often]]  # the median
    even = (np.abs(gap - spacing[group]) <= _strict(spacing[group])) & (count[group] >= 2)
    run = np.cumsum(np.diff(group, prepend=-1).astype(bool) | ~even)
    length = np.bincount(run, weights=gap * even)
    longest = np.zeros(len(count))
    np.maximum.at(longest, group, length[run])

    ranked = often[np.argsort(-longest[often], kind="stable")]
    _, best = np.unique(np.round(50 * np.log(spacing[ranked])), return_index=True)
    starts = np.searchsorted(gram[order], np.arange(len(count) + 1))
    return [(int(longest[g]), order[starts[g] : starts[g + 1]]) for g in ranked[np.sort(best)[:SPACINGS]].tolist()]


def _candidate(seq: Sequence, at: Ints) -> _Candidate | None:
    length = np.diff(at)
    _, place, times = np.unique(seq.bag(at[:-1], at[1:]), return_index=True, return_counts=True)
    middle = place[times.argmax()] if times.max() > 1 else np.argsort(length)[len(length) // 2]
    typical = (int(at[middle]), int(at[middle + 1]))
    edits = seq.edits(at[:-1], at[1:], typical)
    # other names are noise, other numbers of ops are another place in the step
    alike = (edits <= length[middle] // LOOSE) & (np.abs(length - length[middle]) <= _strict(length[middle]))
    if not np.any(alike[1:] & alike[:-1]):
        return None
    stretch = int(np.bincount(np.cumsum(~alike), weights=length * alike).max())
    host, graph = (_mostly(flag, at, alike) for flag in (seq.host, seq.graph))
    return _Candidate(at, edits, typical, stretch, host, graph, int(length[middle]))


def _mostly(flag: Bools, cut: Ints, which: Bools) -> bool:
    """True where at least half of the segments `which` hold a flagged token."""
    total = np.concatenate([[0], np.cumsum(flag)])
    return bool(np.mean(np.diff(total[cut])[which] > 0) >= 0.5)


def _period(seq: Sequence, best: _Candidate) -> Period | None:
    """Segments cut where steps begin, if at least three in a row are steps."""
    cut = _cuts(seq, best)
    edits = seq.edits(cut[:-1], cut[1:], best.typical)
    step = edits <= best.length // LOOSE
    size = np.diff(cut)
    between = slice(step.argmax(), len(step) - step[::-1].argmax())
    share = 1 - np.minimum(edits, size)[between].sum() / size[between].sum()
    in_a_row = np.any(step[2:] & step[1:-1] & step[:-2])
    if not in_a_row or share < LEAST_SHARE or edits[step].sum() > (1 - OVERALL) * size[step].sum():
        return None
    return Period(cut, step, best.length, float(share), _mostly(seq.host, cut, step))


def _offset(seq: Sequence, best: _Candidate) -> tuple[int, bool]:
    """Where in a segment steps begin: behind the host's wait if there is one, with the longest idle time before it."""
    exact = best.at[:-1][best.edits == 0]
    tokens = exact[:, None] + np.arange(best.length)  # [segments, tokens]
    woken = seq.woken[tokens].mean(axis=0) >= 0.5
    idle = np.median(seq.gap[tokens], axis=0)
    waits = bool(woken.any())
    return int(np.where(woken | (not waits), idle, -1).argmax()), waits


def _cuts(seq: Sequence, best: _Candidate) -> Ints:
    """Where steps begin and end."""
    offset, waits = _offset(seq, best)
    cut = _filled(seq, best, _placed(seq, best, offset))
    return _snapped(seq, best, cut) if waits else cut


def _placed(seq: Sequence, best: _Candidate, offset: int) -> Ints:
    """Places `offset` behind an anchor, or as far before the next one where an odd op came first."""
    (start, end), at = best.typical, best.at
    ahead = np.minimum(at + offset, len(seq.token))
    following = np.append(at[1:], ahead[-1])
    back = np.maximum(following - (best.length - offset), at)
    odd = seq.bag(at, ahead) != seq.bag(start, start + offset)
    odd &= seq.bag(back, following) == seq.bag(start + offset, end)
    return np.unique(np.where(odd, back, ahead))


def _filled(seq: Sequence, best: _Candidate, cut: Ints) -> Ints:
    """With the ends of whole steps before a hole or the end, and the starts of those behind one."""
    far = best.length + best.length // LOOSE
    before, behind = np.diff(cut, prepend=cut[0] - far - 1), np.diff(cut, append=cut[-1] + far + 1)
    start = np.concatenate([cut[behind > far], cut[before > far] - best.length])
    start = start[(start >= 0) & (start + best.length <= len(seq.token))]
    start = start[seq.edits(start, start + best.length, best.typical) <= best.length // LOOSE]
    return np.unique(np.concatenate([cut, start, start + best.length]))


def _snapped(seq: Sequence, best: _Candidate, cut: Ints) -> Ints:
    """With both ends of steps that have an odd op at the nearest wait: the odd one may lie beside the cut."""
    reach = best.length // LOOSE
    edits = seq.edits(cut[:-1], cut[1:], best.typical)
    odd = (edits > 0) & (edits <= reach)
    woken = np.flatnonzero(seq.woken)
    later = np.minimum(np.searchsorted(woken, cut), len(woken) - 1)
    sooner = np.maximum(later - 1, 0)
    near = np.where(np.abs(woken[later] - cut) < np.abs(woken[sooner] - cut), woken[later], woken[sooner])
    moved = (np.append(odd, False) | np.append(False, odd)) & (np.abs(near - cut) <= reach)
    return np.unique(np.where(moved, near, cut))
