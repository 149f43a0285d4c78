"""Which cold experts to move to the main card, so that it waits least for the sidecar within a memory budget.

    found = place(uses, Terms(budget=40))      # uses: placement/expert_use.py
    found.chosen, found.curve

The wait of a call is gone only when all of its cold experts have become hot; until then each one that has moves the
call's end forward by `per_expert_us` (0 unless it is given, so that nothing is promised). So experts are worth most
together: a greedy choice takes whole sets, and single experts where those save something. Where the uses are counts alone, sets are not known: see placement/expert_use.py for what stands in for them.
Waits are those measured with today's placement; what the moves would do is modelled. That the main card itself gets
slower with more hot experts of a call is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stepprof.analyses.placement.expert_use import ExpertUse, Layer

Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
SETS = 500  # candidate sets of a layer, the heaviest first


@dataclass(frozen=True)
class Terms:
    """How many experts may move, and what one saves of a call that stays (µs)."""

    budget: int
    per_expert_us: float = 0.0


@dataclass(frozen=True)
class Point:
    """The wait left after so many moves; µs a step over all steps, and over those of each class."""

    experts: int
    wait_us: float
    by_class: tuple[float, ...]


@dataclass(frozen=True)
class Placed:
    """What to move, in the order of its worth: (layer, expert); the curve begins with today's wait, nothing moved."""

    chosen: tuple[tuple[int, int], ...]
    curve: tuple[Point, ...]

    @property
    def saved_us(self) -> float:
        """Wait saved a step."""
        return self.curve[0].wait_us - self.curve[-1].wait_us


def place(uses: ExpertUse, terms: Terms) -> Placed:
    """The better of two greedy choices: most saved for each expert first, and most saved first."""
    return min((_greedy(uses, terms, each) for each in (True, False)), key=lambda placed: placed.curve[-1].wait_us)


def _greedy(uses: ExpertUse, terms: Terms, each: bool) -> Placed:
    """Ties go to the lower layer; `each`: by what is saved for each expert."""
    states = [_State(layer, terms.per_expert_us, each) for layer in uses.layers]
    chosen: list[tuple[int, int]] = []
    curve = [_point(uses, states, 0)]
    offers = [state.best(terms.budget) for state in states]
    while (room := terms.budget - len(chosen)) > 0 and states:
        best = max(range(len(states)), key=lambda i: offers[i][0])
        worth, experts = offers[best]
        if worth <= 0:
            break
        if len(experts) > room:  # made when there was more room
            offers[best] = states[best].best(room)
            continue
        states[best].move(experts)
        chosen += [(uses.layers[best].layer, int(uses.layers[best].experts[e])) for e in experts]
        offers[best] = states[best].best(terms.budget - len(chosen))
        curve.append(_point(uses, states, len(chosen)))
    return Placed(tuple(chosen), tuple(curve))


def wait_left(layer: Layer, hot: Bool, per_expert_us: float) -> Float:
    """Wait of a layer by class in µs a step; hot [E] says which of its experts have moved."""
    return _by_class(layer, _waits(layer, hot, per_expert_us))


def _waits(layer: Layer, hot: Bool, per_expert_us: float) -> Float:
    """Weighted wait of each set, [S]: 0 where all its experts are hot."""
    left = (layer.sets & ~hot).sum(1)
    moved = (layer.sets & hot).sum(1)
    waits = np.maximum(layer.wait_us - per_expert_us * moved, 0.0)
    return np.where(left == 0, 0.0, waits) * layer.weight


def _by_class(layer: Layer, waits: Float) -> Float:
    return np.bincount(layer.class_, waits, layer.classes).astype(np.float64)


class _State:
    """One layer while experts move."""

    def __init__(self, layer: Layer, per_expert_us: float, each: bool) -> None:
        self.layer, self.per_expert_us, self.each = layer, per_expert_us, each
        self.hot = np.zeros(len(layer.experts), bool)
        self.left = wait_left(layer, self.hot, per_expert_us)  # by class

    def move(self, experts: npt.NDArray[np.int64]) -> None:
        """Make them hot."""
        self.hot[experts] = True
        self.left = wait_left(self.layer, self.hot, self.per_expert_us)

    def best(self, room: int) -> tuple[float, npt.NDArray[np.int64]]:
        """(worth, experts) of the best offer of at most `room` experts; worth in µs a step, of all or for each."""
        layer, none = self.layer, (0.0, np.empty(0, np.int64))
        rest = layer.sets & ~self.hot
        size = rest.sum(1)
        now = _waits(layer, self.hot, self.per_expert_us)
        open_ = (size > 0) & (now > 0)
        if not open_.any() or room < 1:
            return none
        sets = _heaviest(rest[open_], now[open_])
        if self.per_expert_us > 0:
            sets = np.unique(np.vstack([sets, np.eye(len(self.hot), dtype=bool)[rest[open_].any(0)]]), axis=0)[::-1]
        sets = sets[sets.sum(1) <= room]
        if not len(sets):
            return none
        worth = self._saved(sets, rest[open_], now[open_], self.layer.weight[open_]) / (sets.sum(1) if self.each else 1)
        at = int(np.argmax(worth))
        return float(worth[at]), np.flatnonzero(sets[at])

    def _saved(self, sets: Bool, rest: Bool, now: Float, weight: Float) -> Float:
        """Wait that each of `sets` would save, [K]: that of all calls inside it, and a part of those it meets."""
        size = rest.sum(1)
        met = sets.astype(np.float32) @ rest.T.astype(np.float32)  # [K, S] experts of a call that would move
        inside = met == size
        if self.per_expert_us == 0:
            return inside @ now
        part = np.minimum(met * self.per_expert_us * weight, now)
        return np.where(inside, now, part).sum(1)


def _heaviest(sets: Bool, waits: Float) -> Bool:
    """Distinct sets, by the wait of the calls that need exactly them; at most SETS."""
    packed = np.packbits(sets, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(inverse.ravel(), waits, len(first))
    return sets[first[np.sort(np.argsort(-total, kind="stable")[:SETS])]]


def _point(uses: ExpertUse, states: list[_State], experts: int) -> Point:
    """Weights are per step of all classes; a class's own steps are fewer."""
    left = np.sum([np.zeros(len(uses.classes)), *(state.left for state in states)], axis=0)
    own = left * sum(uses.steps) / np.array(uses.steps)
    return Point(experts, float(left.sum()), tuple(own.tolist()))
