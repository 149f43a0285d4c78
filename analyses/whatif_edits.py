"""The edits of proposals, each a function from a step graph to the edited one.

    done = apply(graph, Scale(Select(device=(1,)), factor=Given(0, 0, 0)), assume)
    replay(done.graph)

Works on the nodes of all steps at once. Nothing but the graph is changed; replay.py tells what it does
to the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stepprof.analyses.added_ops import in_parts, with_ops
from stepprof.analyses.assumptions import Assumptions
from stepprof.analyses.fusion import fused
from stepprof.analyses.graph_edits import without_nodes
from stepprof.analyses.op_runs import NONE, chains, runs
from stepprof.analyses.op_selection import matching
from stepprof.analyses.ops import Bools, Ints
from stepprof.analyses.proposal_model import Add, Edit, Fuse, Remove, Scale, Split
from stepprof.analyses.replay import order
from stepprof.analyses.step_graph import StepGraph
from stepprof.profiler.errors import UsageError


@dataclass(frozen=True)
class Done:
    """An edited graph, and which nodes of the former one the edit was about."""

    graph: StepGraph
    touched: Bools  # [nodes of the graph before]
    notes: tuple[str, ...] = ()


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
    read, written, known = assume.traffic(graph.nodes)
    some = which & known
    if which.any() and not some.any():
        raise UsageError(
            "no traffic of these ops is on record, so there is no roofline: import the run with --costs, "
            "or give factor or to_us."
        )
    rate = {card: assume.bandwidth(card, edit.bandwidth_gb_s) for card in np.unique(graph.nodes.device[some]).tolist()}
    for card, speed in rate.items():
        mine = some & (graph.nodes.device == card)
        floor = np.rint((read + written)[mine] / speed).astype(np.int64)
        duration[mine] = np.minimum(duration[mine], floor[:, None])
    lost = int(np.sum(which & ~known))
    return (f"{lost} of {int(np.sum(which))} ops have no traffic on record and keep their time",) if lost else ()


def _fuse(graph: StepGraph, edit: Fuse, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    group = chains(graph, which, edit.chain) if edit.chain else runs(graph, which, edit.within_layer)
    made, notes = fused(graph, group, assume, edit.to_us, edit.bandwidth_gb_s), ()
    if not edit.chain and _circular(made):
        group = runs(graph, which, edit.within_layer, simple=True)
        made = fused(graph, group, assume, edit.to_us, edit.bandwidth_gb_s)
        notes = ("runs that wait for one another were fused only where nothing enters or leaves between their ops",)
    return Done(made, _several(group), notes)


def _several(group: Ints) -> Bools:
    """Members of groups of at least two."""
    count = np.bincount(group[group != NONE], minlength=1)
    return (group != NONE) & (count[np.maximum(group, 0)] > 1)


def _circular(graph: StepGraph) -> bool:
    try:
        order(graph.edges, len(graph))
    except UsageError:
        return True
    return False


def _split(graph: StepGraph, edit: Split, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    return Done(in_parts(graph, which, edit.parts, assume), which)


def _add(graph: StepGraph, edit: Add, assume: Assumptions) -> Done:
    which = matching(graph.nodes, edit.select)
    at = np.flatnonzero(which)
    if edit.each == "run":
        group, rank = runs(graph, which), order(graph.edges, len(graph))
        rank = [node for node in rank if which[node]]
        at = _ends(group, np.array(rank[::-1] if edit.at == "after" else rank, dtype=np.int64))
    return Done(with_ops(graph, at, round(1000 * assume.of(edit.us)), edit.at), which)


def _ends(group: Ints, rank: Ints) -> Ints:
    """The first node of every group in this order."""
    return np.sort(rank[np.unique(group[rank], return_index=True)[1]])


EDITS: dict[type, Callable[[StepGraph, Any, Assumptions], Done]] = {
    Remove: _remove,
    Scale: _scale,
    Fuse: _fuse,
    Split: _split,
    Add: _add,
}
