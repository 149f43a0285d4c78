"""Edits of what the model computes: answers shared between layers, experts on the main card, other drafts.

    shared(graph, which, (2, 8))            # ops of other layers go; layers below 2 keep theirs
    placed(graph, which, place, assume)     # smaller sidecar calls, or none in some layers

These are models of a change that the trace does not show; each says what it leaves out.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from stepprof.analyses.graph.graph_edits import without_nodes
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.ops import UNKNOWN, Bools
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.op_selection import matching, paths
from stepprof.analyses.whatif.proposal_model import Draft, Place, Select
from stepprof.analyses.whatif.rewired import rank_of
from stepprof.profiler.errors import UsageError

SIDECAR = Select(role=("sidecar_copy", "sidecar_gather", "sidecar_gemm", "sidecar_reduce"))
BY_EXPERT = Select(role=("sidecar_gather", "sidecar_gemm"))  # work that goes with the experts of a call
DRAFT = re.compile(r"(?:^|/)draft/(\d+)(?:/|$)")


def shared(graph: StepGraph, which: Bools, source: tuple[int, ...]) -> tuple[StepGraph, Bools]:
    """Ops of layers that can take over an earlier source's answer leave; which those are."""
    layer = graph.nodes.layer
    gone = which & (layer != UNKNOWN) & (layer > min(source)) & ~np.isin(layer, source)
    return without_nodes(graph, gone), gone


def placed(graph: StepGraph, which: Bools, edit: Place, assume: Assumptions) -> tuple[StepGraph, tuple[str, ...]]:
    """The sidecar's calls without the experts that moved, and what is not in the prediction."""
    mine = which & np.isin(graph.nodes.layer, edit.layers) if edit.layers else which
    duration, notes = graph.duration.copy(), list[str]()
    moved = np.unique(graph.nodes.layer[mine])
    if edit.main_us is None:
        notes.append("modelled: what the main card's experts take longer is not in; give main_us")
    else:
        at = _last_of_layer(
            graph, matching(graph.nodes, Select(role=("expert_gemm",))) & np.isin(graph.nodes.layer, moved)
        )
        if not at:
            raise UsageError("no op of role expert_gemm in these layers could take main_us longer: leave it out.")
        duration[at] += round(1000 * assume.of(edit.main_us))
    graph = replace(graph, duration=duration)
    if edit.layers:
        return without_nodes(graph, mine), tuple(notes)
    assert edit.fraction is not None
    part = mine & matching(graph.nodes, BY_EXPERT)
    if not part.any():
        raise UsageError(
            "no op of role sidecar_gather or sidecar_gemm is selected: a fraction of experts scales these."
        )
    duration = graph.duration.copy()
    duration[part] = np.rint(duration[part] * (1 - assume.of(edit.fraction))).astype(np.int64)
    notes.append("modelled: gather and GEMM shrink with the experts, copies and reduce do not; no call vanishes")
    return replace(graph, duration=duration), tuple(notes)


def _last_of_layer(graph: StepGraph, which: Bools) -> list[int]:
    """The last of these ops in each layer."""
    rank = rank_of(graph)
    found: dict[int, int] = {}
    for node in sorted(np.flatnonzero(which).tolist(), key=lambda n: int(rank[n])):
        found[int(graph.nodes.layer[node])] = node
    return list(found.values())


def drafted(graph: StepGraph, edit: Draft, assume: Assumptions) -> tuple[StepGraph, Bools, float, tuple[str, ...]]:
    """The graph with other drafts, ops that leave, what comes on top of the step in ns, and what is not in."""
    none = np.zeros(len(graph), bool)
    row = edit.row_ms or assume.row_ms
    if row is not None and assume.k is None:
        raise UsageError("today's k is not known: import the run with --facts, or give --k.")
    if row is not None and assume.k is not None:
        notes = ("more drafts than were seen: what new positions keep is extrapolated",) if edit.k > assume.k else ()
        return graph, none, (edit.k - assume.k) * 1e6 * assume.of(row), notes
    numbers = [int(match[1]) if (match := DRAFT.search(path)) else UNKNOWN for path in paths(graph.nodes)]
    later = np.array(numbers) > edit.k  # draft/j makes the j-th token
    if not later.any():
        raise UsageError("the cost of a draft row is not known: give row_ms, or facts of steps with different k.")
    return (
        without_nodes(graph, later),
        later,
        0.0,
        ("ops of later drafts go; what verify saves by fewer rows is not in",),
    )
