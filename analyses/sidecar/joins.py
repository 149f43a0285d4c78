"""Where the main card waits for each call: join wait, main ready, away (DESIGN, Words).

A join is an op of the main card that waits for both cards. Its predecessors are recorded graph edges, else
the dependency the walk follows and the main card's last op before it. Of several such ops of a call the one
with the longest wait counts. Where no link leads back to the main card and no edges are recorded, the join is
the op that adds the answer (role `combine`) or, failing that, the main card's next op, and the wait is what
their times leave. A main card that spins in line with its own work waits for the other card alone (spins).

    joins = find_joins(scene, calls)
    joins.wait       # ns; 0 where the main card was the later one
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.latest import latest
from stepprof.analyses.ops import UNKNOWN, Bools, Ints
from stepprof.analyses.sidecar.calls import Calls
from stepprof.analyses.sidecar.marks import WAIT
from stepprof.analyses.sidecar.members import Scene
from stepprof.analyses.sidecar.spins import answers_in_line
from stepprof.analyses.vocabulary import ROLES

COMBINE = ROLES.index("combine")


@dataclass(frozen=True)
class Joins:
    """One entry a call; times in ns, UNKNOWN where the main card never goes on after a call."""

    op: Ints
    fork: Ints  # end of the main card's op that the call follows
    main_ready: Ints  # latest end among the join's predecessors on the main card
    side_done: Ints  # latest end among its predecessors in the call
    wait: Ints  # 0 where the join is UNKNOWN
    linked: Bools  # an edge, an event or an idle card says so; else order alone
    resumes: Ints  # start of the join
    marked: Ints  # the op whose range says that it waits or adds; UNKNOWN where there is none
    marked_wait: Ints  # the wait there
    at_mark: Bools  # the join's own range says so


@dataclass(frozen=True)
class _Main:
    """Ops of the main card that belong to no call and do not spin, by start, and what is known of them."""

    scene: Scene
    own: Bools
    call: Ints  # of each op of the run, UNKNOWN outside calls

    @property
    def ops(self) -> Ints:
        """Their indices."""
        return np.flatnonzero(self.own)

    def ready(self, op: Ints) -> Ints:
        """When the main card had done what each op follows: recorded edges, else its last op before."""
        ops, edges = self.scene.found.ops, self.scene.edges
        found = np.full(len(ops), UNKNOWN, dtype=np.int64)
        mine = self.own[edges.source] & self.own[edges.target]
        np.maximum.at(found, edges.target[mine], ops.end[edges.source[mine]])
        return np.where(found[op] != UNKNOWN, found[op], self.before(ops.start[op], op))

    def before(self, at: Ints, but: Ints | None = None) -> Ints:
        """End of the op that had ended last at each time, other than `but`; UNKNOWN where there is none."""
        ops, mine = self.scene.found.ops, self.ops
        ends = np.sort(ops.end[mine])
        place = np.searchsorted(ends, at, side="right") - 1
        if but is not None:  # an op without length has ended when it starts
            place -= ((ops.end[but] <= at) & self.own[but]).astype(np.int64)
        return np.where(place >= 0, ends[np.maximum(place, 0)], UNKNOWN) if len(ends) else np.full(len(at), UNKNOWN)


def find_joins(scene: Scene, calls: Calls) -> Joins:
    """The join of every call."""
    main = _main(scene, calls)
    call, op, side = _links(scene, main)
    ready = main.ready(op)
    wait = np.maximum(side - ready, 0)
    order = np.lexsort((-op, wait, call))  # of a call's joins the last one here waits longest; of equals the first op
    last = order[np.append(call[order][1:] != call[order][:-1], True)] if len(order) else order
    joins = _by_order(scene, calls, main)
    for column, value in zip(joins[:4], (op, ready, side, wait), strict=True):
        column[call[last]] = value[last]
    linked = np.zeros(len(calls), bool)
    linked[call[last]] = True
    at, ready, side, _ = joins
    answered = answers_in_line(scene, calls, main.own, ready)
    side = np.where(answered != UNKNOWN, np.minimum(side, answered), side)
    wait = np.where(at != UNKNOWN, np.maximum(side - ready, 0), 0)
    marked = _marked_ops(scene, calls, main)
    resumes = np.where(at != UNKNOWN, scene.found.ops.start[at], UNKNOWN)
    done = np.where(answered != UNKNOWN, answered, calls.done)
    marked_wait = np.where(marked != UNKNOWN, np.maximum(done - main.ready(marked), 0), UNKNOWN)
    fork = _forks(scene, calls, main)
    return Joins(at, fork, ready, side, wait, linked, resumes, marked, marked_wait, _says_so(scene, at))


def _main(scene: Scene, calls: Calls) -> _Main:
    ops, stretches = scene.found.ops, calls.stretches
    call = np.full(len(ops), UNKNOWN, dtype=np.int64)
    known = stretches.op != UNKNOWN
    call[stretches.op[known]] = stretches.call[known]
    own = (ops.device == scene.main) & (call == UNKNOWN) & ~scene.found.waits
    return _Main(scene, own, call)


def _links(scene: Scene, main: _Main) -> tuple[Ints, Ints, Ints]:
    """(call, op of the main card, latest end among the call's ops that it follows).

    Where clocks that are apart put that end behind the op's start, the start counts.
    """
    deps, edges, ops = scene.found.deps, scene.edges, scene.found.ops
    guess = np.flatnonzero((~edges.known | deps.head) & (deps.predecessor != UNKNOWN))
    source = np.concatenate([edges.source, edges.apart_source, deps.predecessor[guess]])
    target = np.concatenate([edges.target, edges.apart_target, guess])
    kept = (main.call[source] != UNKNOWN) & main.own[target] & (scene.step[target] != UNKNOWN)
    kept &= scene.step[target] == scene.step[source]
    apart = np.repeat([False, True, False], [len(edges.source), len(edges.apart_source), len(guess)])
    end = np.where(apart, np.minimum(ops.end[source], ops.start[target]), ops.end[source])
    call, target, end = main.call[source[kept]], target[kept], end[kept]
    pairs, group = np.unique(np.stack([call, target]), axis=1, return_inverse=True)
    latest_end = np.full(pairs.shape[1], UNKNOWN, dtype=np.int64)
    np.maximum.at(latest_end, group.reshape(-1), end)
    return pairs[0], pairs[1], latest_end


def _by_order(scene: Scene, calls: Calls, main: _Main) -> tuple[Ints, Ints, Ints, Ints]:
    """Joins without a link: the op that adds the answer, if it starts after the call, else the main card's next op."""
    ops, mine = scene.found.ops, main.ops[scene.step[main.ops] != UNKNOWN]
    place = np.searchsorted(ops.start[mine], calls.done, side="left")
    op = np.append(mine, UNKNOWN)[np.minimum(place, len(mine))]
    adds = _marked_ops(scene, calls, main)
    op = np.where((adds != UNKNOWN) & (ops.start[adds] >= calls.done), adds, op)
    op = np.where((op != UNKNOWN) & (scene.step[op] == calls.step), op, UNKNOWN)
    first = _first_ops(calls)
    same = (first != UNKNOWN) & (ops.launch[op] == ops.launch[first])
    op = np.where(scene.edges.known[op] & same, UNKNOWN, op)  # its edges say that it does not wait
    ready = np.where(op != UNKNOWN, main.ready(op), UNKNOWN)
    wait = np.where(op != UNKNOWN, np.maximum(calls.done - ready, 0), 0)
    return op, ready, calls.done.copy(), wait


def _marked_ops(scene: Scene, calls: Calls, main: _Main) -> Ints:
    """For each call the main card's op in the range that waits for it, else its layer's last op that adds."""
    layer, label = scene.found.roles.layer.astype(np.int64), scene.found.labels.of_op
    waits = np.array([part == WAIT for part in scene.marks.part])[label]
    width = int(layer.max(initial=0)) + 2
    found = np.full(len(calls), UNKNOWN, dtype=np.int64)
    for which in (scene.found.roles.role == COMBINE, waits):  # the surer one comes last
        at = np.flatnonzero(main.own & (scene.step != UNKNOWN) & which & (layer != UNKNOWN))
        key, wanted = scene.step[at] * width + layer[at], calls.step * width + calls.layer
        place = latest(key, np.arange(len(at)), wanted, np.full(len(calls), len(at)))
        hit = (place != UNKNOWN) & (calls.layer != UNKNOWN)
        found = np.where(hit, np.append(at, UNKNOWN)[place], found)
    return found


def _says_so(scene: Scene, op: Ints) -> Bools:
    """Whether an op's range says that it waits for the sidecar or adds its answer."""
    waits = np.array([part == WAIT for part in scene.marks.part])[scene.found.labels.of_op[op]]
    return (op != UNKNOWN) & (waits | (scene.found.roles.role[op] == COMBINE))


def _first_ops(calls: Calls) -> Ints:
    """The op that begins each call, UNKNOWN where a stamp does."""
    stretches = calls.stretches
    work = np.flatnonzero(~stretches.waits)
    first = np.full(len(calls), UNKNOWN, dtype=np.int64)
    at = work[np.unique(stretches.call[work], return_index=True)[1]]
    first[stretches.call[at]] = stretches.op[at]
    return first


def _forks(scene: Scene, calls: Calls, main: _Main) -> Ints:
    """End of the main card's op that the first op of each call follows."""
    deps, ops, first = scene.found.deps, scene.found.ops, _first_ops(calls)
    before = np.where(first != UNKNOWN, deps.predecessor[first], UNKNOWN)
    known = (before != UNKNOWN) & main.own[before]
    fork = np.where(known, ops.end[before], main.before(calls.start))
    return np.where(fork == UNKNOWN, calls.start, np.minimum(fork, calls.start))
