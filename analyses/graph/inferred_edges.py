"""Edges of a CUDA graph that nobody recorded, guessed from many replays of it.

An op never starts before what it waits for has ended, and the time between varies least over the
replays. Where the driver gives each chain of nodes a stream of its own, that order is taken first
(two ops of one stream never overlap then); what it leaves unexplained has another cause, found
among the ops that had ended last. A branch that nothing is seen to wait for joins, by guess,
the next op made after it, since every branch of a captured graph joins again.

    edges = infer(start, end, card, stream, node)         # times [ops, replays] ns of one graph launch
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.graph.step_graph import INFERRED, STREAM, Edges, Times
from stepprof.analyses.ops import Bools, Ints

OVERLAP = 1_000  # ns by which a full dependency may seem to overlap: clocks of two engines
PDL_OVERLAP, PDL_SPREAD = 4_000, 300  # ns; a programmatic edge overlaps, by nearly the same time always
TOLERANCE = 1_000  # ns; latencies within it of their median are alike
STREAM_FAULTS = 0.005  # share of neighbours on a stream that may overlap by more than OVERLAP
NEAR = 48  # ops that had ended last before an op: its candidates
REPLAYS = 64  # looked at; more do not change the choice
LATER, JUST_BEFORE = 4.0, 0.75  # factors on the spread of a candidate made after, or just before, its target
WEIGHT = 0.05  # ns of spread that 1 ns of latency counts as
ORDERED, SEEN, GUESSED = 0.95, 0.7, 0.3  # confidences: by stream, by times, a join never seen to bind
CAUSES = 3  # beside the stream's order, of one op


@dataclass(frozen=True)
class _Replays:
    """One graph launch over some replays, ops in order of median start."""

    start: Times  # [ops, replays]
    end: Times
    card: Ints
    stream: Ints
    made: Ints  # rank of its node: captured nodes are made in the program's order
    by_end: Ints  # positions by median end
    ends: np.ndarray  # median ends in that order


def infer(start: Times, end: Times, card: Ints, stream: Ints, node: Ints, wanted: Bools | None = None) -> Edges:
    """Inferred edges as positions in the given arrays, latencies 0; `wanted` restricts the targets."""
    if len(start) < 2:
        return Edges.of([])
    order = np.lexsort((np.median(end, axis=1), np.median(start, axis=1)))
    seen = np.unique(np.linspace(0, start.shape[1] - 1, REPLAYS).astype(np.int64))
    ends = np.median(end[order], axis=1)
    by_end = np.argsort(ends, kind="stable")
    times = np.ascontiguousarray(start[order][:, seen]), np.ascontiguousarray(end[order][:, seen])
    replays = _Replays(*times, card[order], stream[order], _ranks(node)[order], by_end, ends[by_end])
    before, orderly = _before_on_stream(replays)
    rows = [
        row for t in range(1, len(order)) if wanted is None or wanted[order[t]] for row in _causes(replays, t, before)
    ]
    if wanted is None:
        rows += _open_ends(replays, rows, orderly)
    pairs = [(int(order[a]), int(order[b])) for a, b, _, _ in rows]
    return Edges.of(pairs, kind=[row[2] for row in rows], confidence=[row[3] for row in rows])


Row = tuple[int, int, int, float]  # source, target, kind, confidence


def _ranks(node: Ints) -> Ints:
    """Ranks of nodes in the order in which they were made; all 0 where nodes are not on record."""
    return np.searchsorted(np.unique(node), node).astype(np.int64)


def _before_on_stream(replays: _Replays) -> tuple[Ints, Bools]:
    """For each op the one before it on its stream (else -1), and whether the stream tells an order at all."""
    before = np.full(len(replays.stream), -1, dtype=np.int64)
    orderly = np.zeros(len(before), bool)
    for stream in np.unique(replays.stream).tolist():
        at = np.flatnonzero(replays.stream == stream)
        slack = replays.start[at[1:]] - replays.end[at[:-1]]
        if len(at) == 1 or np.mean(slack < -OVERLAP) <= STREAM_FAULTS:
            before[at[1:]], orderly[at] = at[:-1], True
    return before, orderly


def _causes(replays: _Replays, t: int, before: Ints) -> list[Row]:
    """What op t waits for."""
    rows: list[Row] = []
    chosen: list[int] = []
    open_ = np.ones(replays.start.shape[1], bool)  # replays whose start is not explained yet
    if before[t] >= 0:
        chosen.append(int(before[t]))
        rows.append((chosen[0], t, STREAM, ORDERED))
        open_ = ~_explained(replays, t, chosen[0], before)
    least = max(2, open_.size // 10) if rows else 1
    for _ in range(CAUSES):
        if open_.sum() < min(least, open_.size):
            break
        found = _likeliest(replays, t, chosen, open_)
        if found is None or found[0] in chosen:
            break
        source, alike = found
        if len(chosen) > 1 and 2 * np.sum(alike & open_) < open_.sum():
            break
        rows.append((source, t, INFERRED, SEEN))
        chosen.append(source)
        open_ &= ~alike
        least = max(2, open_.size // 4)
    return rows


def _explained(replays: _Replays, t: int, source: int, before: Ints) -> Bools:
    """Replays in which op t starts as soon after the op before it on its stream as such ops do."""
    slack = replays.start[t] - replays.end[source]
    usual = _usual_gap(replays, before)
    least = int(slack.min())
    return slack <= (least if least <= 2 * usual + TOLERANCE else usual) + TOLERANCE


def _usual_gap(replays: _Replays, before: Ints) -> int:
    at = np.flatnonzero(before >= 0)
    some = at[:: max(len(at) // 200, 1)]
    return int(np.median((replays.start[some] - replays.end[before[some]]).min(axis=1)))


def _likeliest(replays: _Replays, t: int, chosen: list[int], open_: Bools) -> tuple[int, Bools] | None:
    """The candidate whose time before op t varies least over the open replays, and the replays it explains."""
    near = int(np.searchsorted(replays.ends, np.median(replays.start[t]) + PDL_OVERLAP, side="right"))
    at = replays.by_end[max(near - NEAR, 0) : near]
    at = np.union1d(at[at < t], chosen[:1]).astype(np.int64)
    at = at[~np.isin(at, chosen[1:]) & ~_outdone(replays, t, at, chosen)]
    slack = replays.start[t] - replays.end[at]
    at, slack = (column[_never_late(slack)] for column in (at, slack))
    if len(at) == 0:
        return None
    seen = slack[:, open_]
    middle = np.median(seen, axis=1)
    spread = np.abs(seen - middle[:, None]).mean(axis=1)
    best = int(np.argmin((spread + WEIGHT * np.abs(middle)) * _by_making(replays.made[at], int(replays.made[t]))))
    return int(at[best]), slack[best] <= middle[best] + max(TOLERANCE, 2 * spread[best])


def _by_making(made: Ints, target: int) -> np.ndarray:
    """What the order in which nodes were made says: the one made just before is a likely cause, a later one is none."""
    return np.where(made > target, LATER, np.where(made == target - 1, JUST_BEFORE, 1.0))


def _never_late(slack: Times) -> Bools:
    """Candidates that end before the op starts, always, but for what clocks and PDL allow."""
    least, most = slack.min(axis=1), slack.max(axis=1)
    programmatic = (least >= -PDL_OVERLAP) & (most - least <= PDL_SPREAD)
    return (least >= -OVERLAP) | programmatic


def _outdone(replays: _Replays, t: int, at: Ints, chosen: list[int]) -> Bools:
    """Candidates of a chosen one's card that always end before it: they never hold op t back."""
    outdone = np.zeros(len(at), bool)
    for source in chosen:
        earlier = (replays.end[at] <= replays.end[source]).all(axis=1)
        outdone |= earlier & (replays.card[at] == replays.card[source]) & (at != source)
    return outdone


def _open_ends(replays: _Replays, rows: list[Row], orderly: Bools) -> list[Row]:
    """Joins of branches that nothing was seen to wait for: the next op made after them that never starts before."""
    sources = {row[0] for row in rows}
    made: list[Row] = []
    last = int(replays.by_end[-1])
    for op in sorted(set(np.flatnonzero(orderly).tolist()) - sources - {last}):
        later = np.flatnonzero((replays.made > replays.made[op]) & (replays.stream != replays.stream[op]))
        later = later[(replays.start[later] >= replays.end[op]).all(axis=1)]
        if len(later):
            made.append((op, int(later[0]), INFERRED, GUESSED))
    return made
