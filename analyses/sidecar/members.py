"""The ops that make up sidecar calls, and the groups they fall into: by marks, else by traffic.

Marks: ops inside sidecar ranges (sidecar/<layer>/<phase>, a range around a call, or what a user's
rules call so). An op of (step, layer, card) belongs to one call; a second begins where a part that
opens a call follows one that closes it. A worker that marks no steps, another process or thread,
serves the step in whose time it runs.

Traffic, where nothing is marked: a copy from the main card opens a call, an op belongs to the call of
what it waited for (recorded edges, events, order). Without copies both ways nothing tells a sidecar
from any other second card, and there are no calls.

    members = find_members(store, found, chosen, rules)
    members.op[members.call == 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.edges import ReplayEdges
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.copies import Copies
from stepprof.analyses.sidecar.marks import WAIT, SidecarMarks
from stepprof.analyses.vocabulary import KERNEL

OPENS = ("publish", "copy_in")
CLOSES = ("copy_out", "acknowledge")


@dataclass(frozen=True)
class Members:
    """Ops of calls in order of (call, start); all arrays have one entry an op."""

    op: Ints
    call: Ints  # 0, 1, 2 …
    step: Ints
    layer: Ints  # UNKNOWN where nothing says
    side: Ints  # the other card of the call


@dataclass(frozen=True)
class Scene:
    """What both ways of finding calls look at."""

    found: Attribution
    main: int  # the card that runs the model
    step: Ints  # step of each op; UNKNOWN outside the chosen ones
    copies: Copies
    marks: SidecarMarks
    edges: ReplayEdges


def main_card(found: Attribution, marks: SidecarMarks) -> int:
    """The card with the most ops in steps that no range gives to the sidecar."""
    inside = found.steps.of_op != UNKNOWN
    own = inside & ~marks.marked[found.labels.of_op]
    return int(np.bincount(found.ops.device[own if own.any() else inside], minlength=1).argmax())


def marked_members(scene: Scene) -> Members:
    """Members by their ranges, but for the main card's own ops in them.

    These are the op that adds the answer, under a mark of waiting that does not spin, and kernels of the main
    card that only a range around the whole call holds.
    """
    label, marks, ops = scene.found.labels.of_op, scene.marks, scene.found.ops
    own = _part_is(scene, label, (WAIT,)) & ~scene.found.waits
    own |= _part_is(scene, label, ("",)) & (ops.device == scene.main) & (ops.activity == KERNEL) & ~scene.found.waits
    op = np.flatnonzero(marks.marked[label] & ~own & (scene.step != UNKNOWN))
    side = np.where(scene.found.ops.device[op] != scene.main, scene.found.ops.device[op], scene.copies.side[op])
    layer = scene.found.roles.layer[op].astype(np.int64)
    order = np.lexsort((op, layer, scene.step[op]))
    op, layer, side = op[order], layer[order], side[order]
    side = _filled(side, _new(scene.step[op], layer))
    order = np.lexsort((op, side, layer, scene.step[op]))
    op, layer, side = op[order], layer[order], side[order]
    new = _new(scene.step[op], layer, side)
    call = np.cumsum(new | _opens_again(scene, op, new)) - 1
    return Members(op, call, scene.step[op], layer, side)


def _part_is(scene: Scene, label: Ints, parts: Sequence[str]) -> Bools:
    return np.array([part in parts for part in scene.marks.part])[label]


def _new(*columns: Ints) -> Bools:
    """Where one of the columns changes."""
    new = np.zeros(len(columns[0]), bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def _filled(side: Ints, new: Bools) -> Ints:
    """Unknown cards become the next known one of their group, else the last one."""
    group = np.cumsum(new)
    for _ in range(2):  # forwards on the reversed array first, then backwards
        side, group = side[::-1], group[::-1]
        known = np.maximum.accumulate(np.where(side != UNKNOWN, np.arange(len(side)), 0))
        same = (group[known] == group) & (side[known] != UNKNOWN) if len(side) else known.astype(bool)
        side = np.where(same, side[known], side) if len(side) else side
    return side


def _opens_again(scene: Scene, op: Ints, new: Bools) -> Bools:
    """An opening op whose group has had a closing one since it last opened; copies that no part names go by their way."""
    label, copies = scene.found.labels.of_op[op], scene.copies
    bare = _part_is(scene, label, ("",)) & (copies.side[op] >= 0)
    opens = _part_is(scene, label, OPENS) | (bare & copies.inward[op])
    closes = _part_is(scene, label, CLOSES) | (bare & ~copies.inward[op])
    place = np.arange(len(op))
    group = np.maximum.accumulate(np.where(new, place, 0)) if len(op) else place
    closed = np.maximum.accumulate(np.where(closes, place, UNKNOWN)) if len(op) else place
    opened = np.maximum.accumulate(np.where(opens, place, UNKNOWN)) if len(op) else place
    before = np.concatenate([[UNKNOWN], opened[:-1]]) if len(op) else place
    return opens & (closed >= group) & (closed > before)


def traffic_members(scene: Scene) -> Members:
    """Members by what went to and fro; none where copies go one way only."""
    ops, copies = scene.found.ops, scene.copies
    here = scene.step != UNKNOWN
    inward, outward = here & (copies.side >= 0) & copies.inward, here & (copies.side >= 0) & ~copies.inward
    if not inward.any() or not outward.any():
        none = np.zeros(0, np.int64)
        return Members(none, none, none, none, none)
    mine = (here & (ops.device != scene.main) & ~scene.found.waits) | inward | outward
    root = _roots(_parents(scene, mine, inward), mine)
    op = np.flatnonzero(mine)
    worked = np.zeros(len(ops), bool)  # a call has work on the other card, or it is a copy of something else
    worked[root[op[(ops.device[op] != scene.main) & ~outward[op]]]] = True
    op = op[worked[root[op]]]
    op = op[np.lexsort((op, root[op]))]
    call = np.unique(root[op], return_inverse=True)[1].astype(np.int64)
    side = np.where(ops.device[op] != scene.main, ops.device[op], copies.side[op])
    layer = _layers(scene, op, call)
    return Members(op, call, scene.step[op], layer, _filled(side, _new(call)))


def _parents(scene: Scene, mine: Bools, inward: Bools) -> Ints:
    """For each op of the traffic the one whose call it belongs to; itself where it opens one."""
    deps, ops = scene.found.deps, scene.found.ops
    guess = np.flatnonzero(mine & (deps.predecessor != UNKNOWN))
    target = np.concatenate([scene.edges.target, guess])
    source = np.concatenate([scene.edges.source, deps.predecessor[guess]])
    inside = mine[target] & mine[source] & (scene.step[target] == scene.step[source])
    inside &= ~inward[target] | inward[source]  # a copy in follows nothing but a piece of itself
    target, source = target[inside], source[inside]
    order = np.lexsort((ops.end[source], inward[source], target))  # a copy in says most, then what ended last
    parent = np.arange(len(ops))
    parent[target[order]] = source[order]
    return parent


def _roots(parent: Ints, mine: Bools) -> Ints:
    """Follow parents to the op that opened the call; each round halves the way."""
    while True:
        further = np.where(mine, parent[parent], parent)
        if (further == parent).all():
            return parent
        parent = further


def _layers(scene: Scene, op: Ints, call: Ints) -> Ints:
    """The layer of a call: of any of its ops, else of what its first op waited for."""
    own = scene.found.roles.layer.astype(np.int64)
    first = np.flatnonzero(_new(call))
    feeds = scene.found.deps.predecessor[op[first]]
    layer = np.where(feeds != UNKNOWN, own[feeds], UNKNOWN)
    said = np.full(len(first), UNKNOWN, dtype=np.int64)
    np.maximum.at(said, call, own[op])
    return np.where(said != UNKNOWN, said, layer)[call]
