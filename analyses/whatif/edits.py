"""The edits of proposals, each a function from a step graph to the edited one.

    done = apply(graph, Scale(Select(device=(1,)), factor=Given(0, 0, 0)), assume)
    replay(done.graph)

Works on the nodes of all steps at once. Nothing but the graph is changed; graph/replay.py tells what it does
to the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stepprof.analyses.graph.graph_edits import without_nodes
from stepprof.analyses.graph.replay import order
from stepprof.analyses.graph.step_graph import Edges, StepGraph
from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.whatif.added_ops import in_parts, with_ops
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.fusion import fused
from stepprof.analyses.whatif.model_edits import drafted, placed, shared
from stepprof.analyses.whatif.op_runs import NONE, chains, runs
from stepprof.analyses.whatif.op_selection import matching
from stepprof.analyses.whatif.proposal_model import (
    Add,
    Break,
    Draft,
    Edit,
    Fuse,
    Move,
    Overlap,
    Place,
    Remove,
    Scale,
    Serialize,
    Share,
    Split,
)
from stepprof.analyses.whatif.rewired import (
    Branch,
    behind,
    ends_of,
    on_a_branch,
    one_by_one,
    rank_of,
    side_by_side,
    with_breaks,
)
from stepprof.profiler.errors import UsageError

TANGLED_RUNS = "runs that wait for one another were fused only where nothing enters or leaves between their ops"
TANGLED_CHAINS = "chains that wait for one another were fused only where that makes no circle"


@dataclass(frozen=True)
class Done:
    """An edited graph, and which nodes of the former one the edit was about."""

    graph: StepGraph
    touched: Bools  # [nodes of the graph before]
    notes: tuple[str, ...] = ()
    extra_ns: float = 0.0  # on top of the replayed step
    k: int | None = None  # drafts of a step from here on


def apply(graph: StepGraph, edit: Edit, assume: Assumptions) -> Done:
    """The graph with one edit; UsageError where a figure that it needs is not known."""
    work: Callable[[StepGraph, Any, Assumptions], Done] = EDITS[type(edit)]
    return work(graph, edit, assume)


def _remove(graph: StepGraph, edit: Remove, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    return Done(without_nodes(graph, which), which)


def _scale(graph: StepGraph, edit: Scale, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    duration, notes = graph.duration.copy(), ()
    if edit.factor is not None:
        duration[which] = np.rint(duration[which] * assume.of(edit.factor)).astype(np.int64)
    elif edit.to_us is not None:
        duration[which] = round(1000 * assume.of(edit.to_us))
    else:
        notes = _to_floor(graph, which, edit, assume, duration)
    return Done(replace(graph, duration=duration), which, notes)


def _to_floor(
    graph: StepGraph, which: Bools, edit: Scale, assume: Assumptions, duration: np.ndarray
) -> tuple[str, ...]:
    """Shorten the known ops in `duration` to bytes over bandwidth."""
    moved, known = _bytes(graph, edit, assume)
    some = which & known
    if which.any() and not some.any():
        raise UsageError(
            "no traffic of these ops is on record, so there is no roofline: import the run with --costs, or give bytes."
        )
    rate = {card: assume.bandwidth(card, edit.bandwidth_gb_s) for card in np.unique(graph.nodes.device[some]).tolist()}
    for card, speed in rate.items():
        mine = some & (graph.nodes.device == card)
        floor = np.rint(moved[mine] / speed).astype(np.int64)
        duration[mine] = np.minimum(duration[mine], floor[:, None])
    lost = int(np.sum(which & ~known))
    return (f"{lost} of {int(np.sum(which))} ops have no traffic on record and keep their time",) if lost else ()


def _bytes(graph: StepGraph, edit: Scale, assume: Assumptions) -> tuple[Ints, Bools]:
    """Bytes that each op moves, and where that is known."""
    if edit.traffic_bytes is not None:
        return np.full(len(graph), round(assume.of(edit.traffic_bytes))), np.ones(len(graph), bool)
    read, written, known = assume.traffic(graph.nodes)
    return read + written, known


def _fuse(graph: StepGraph, edit: Fuse, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    group = chains(graph, which, edit.chain) if edit.chain else runs(graph, which, edit.within_layer)
    made, notes = fused(graph, group, assume, edit.to_us, edit.bandwidth_gb_s), ()
    if _circular(made.edges, len(made)):
        group = _untangled(graph, group) if edit.chain else runs(graph, which, edit.within_layer, simple=True)
        made = fused(graph, group, assume, edit.to_us, edit.bandwidth_gb_s)
        notes = (TANGLED_CHAINS if edit.chain else TANGLED_RUNS,)
    return Done(made, _several(group), notes)


def _untangled(graph: StepGraph, group: Ints) -> Ints:
    """Groups in order, without each that would wait for one before it that waits for it."""
    found = np.full_like(group, NONE)
    for number in range(int(group.max(initial=NONE)) + 1):
        tried = np.where(group == number, number, found)
        if not _circular(_drawn_together(graph.edges, tried), len(graph)):
            found = tried
    return found


def _drawn_together(edges: Edges, group: Ints) -> Edges:
    """Edges between groups, each as its first member, and the nodes outside them."""
    first = np.full(int(group.max(initial=0)) + 1, len(group))
    np.minimum.at(first, group[group != NONE], np.flatnonzero(group != NONE))
    place = np.where(group == NONE, np.arange(len(group)), first[np.maximum(group, 0)])
    source, target = place[edges.source], place[edges.target]
    return replace(edges, source=source, target=target).take(source != target)


def _circular(edges: Edges, nodes: int) -> bool:
    try:
        order(edges, nodes)
    except UsageError:
        return True
    return False


def _several(group: Ints) -> Bools:
    """Members of groups of at least two."""
    count = np.bincount(group[group != NONE], minlength=1)
    return (group != NONE) & (count[np.maximum(group, 0)] > 1)


def _split(graph: StepGraph, edit: Split, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    return Done(in_parts(graph, which, edit.parts, assume), which)


def _add(graph: StepGraph, edit: Add, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    at = np.flatnonzero(which)
    if edit.each == "run":
        at = ends_of(runs(graph, which), rank_of(graph))[edit.at == "after"]
    return Done(with_ops(graph, at, round(1000 * assume.of(edit.us)), edit.at), which)


def _break(graph: StepGraph, edit: Break, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    boundary = assume.boundary_ns if edit.us is None else round(1000 * assume.of(edit.us))
    if boundary is None:
        raise UsageError("this trace has no boundary between graphs to take the cost from: give us.")
    outside = int(np.sum(which & ~graph.nodes.graph))
    notes = (f"{outside} ops outside graphs have a launch of their own and were not cut",) if outside else ()
    which = which & graph.nodes.graph
    return Done(with_breaks(graph, ends_of(runs(graph, which), rank_of(graph))[0], boundary), which, notes)


def _move(graph: StepGraph, edit: Move, assume: Assumptions) -> Done:
    which, until = matching(graph.nodes, edit.select), matching(graph.nodes, edit.until)
    signal = None if edit.signal_us is None else round(1000 * assume.of(edit.signal_us))
    factor = 1.0 if edit.factor is None else assume.of(edit.factor)
    made, free = on_a_branch(graph, which, Branch(until, edit.device, factor, signal))
    notes = (f"nothing behind waits for {free} of the moved runs: only the step's end does",) if free else ()
    return Done(made, which, ("ops that run at once are not slowed by each other", *notes))


def _overlap(graph: StepGraph, edit: Overlap, assume: Assumptions) -> Done:
    one, other = matching(graph.nodes, edit.select), matching(graph.nodes, edit.beside)
    made, pairs = side_by_side(graph, one, other)
    notes = () if pairs else ("no op of the two sets waits for one of the other",)
    return Done(made, one, ("ops that run at once are not slowed by each other", *notes))


def _serialize(graph: StepGraph, edit: Serialize, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    if edit.after is None:
        return Done(one_by_one(graph, which), which)
    made, waits = behind(graph, which, matching(graph.nodes, edit.after))
    return Done(made, which, () if waits else ("no layer has ops of both sets",))


def _share(graph: StepGraph, edit: Share, assume: Assumptions) -> Done:
    made, gone = shared(graph, matching(graph.nodes, edit.select), edit.source)
    return Done(made, gone)


def _place(graph: StepGraph, edit: Place, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    made, notes = placed(graph, which, edit, assume) if which.any() else (graph, ())
    return Done(made, which, notes)


def _draft(graph: StepGraph, edit: Draft, assume: Assumptions) -> Done:
    made, gone, extra, notes = drafted(graph, edit, assume)
    return Done(made, gone, notes, extra, edit.k)


EDITS: dict[type, Callable[[StepGraph, Any, Assumptions], Done]] = {
    Remove: _remove,
    Scale: _scale,
    Fuse: _fuse,
    Split: _split,
    Break: _break,
    Move: _move,
    Overlap: _overlap,
    Serialize: _serialize,
    Share: _share,
    Place: _place,
    Draft: _draft,
    Add: _add,
}
