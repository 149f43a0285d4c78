"""Edits of random step graphs: they stay replayable, and what can only shorten a step does not lengthen it."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.vocabulary import ROLES
from stepprof.analyses.whatif.proposal_model import (
    Add,
    Break,
    Edit,
    Fuse,
    Move,
    Overlap,
    Place,
    Remove,
    Scale,
    Select,
    Serialize,
    Share,
    Split,
)
from tests.proposals import after, exactly, named
from tests.step_graphs import hand

NAMES = "abcdefghij"


@st.composite
def graphs(draw: st.DrawFn) -> StepGraph:
    count = draw(st.integers(2, len(NAMES)))
    pairs = [(i, j) for j in range(count) for i in range(j)]
    rows = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * count))
    late = draw(st.lists(st.integers(-5, 20), min_size=len(rows), max_size=len(rows)))
    ints = st.lists(st.integers(1, 50), min_size=count, max_size=count)
    first, second = draw(ints), draw(ints)
    small = st.lists(st.integers(0, 1), min_size=count, max_size=count)
    roles = [ROLES.index("sidecar_gemm") if n else ROLES.index("expert_gemm") for n in draw(small)]
    return hand(
        {NAMES[i]: [first[i], second[i]] for i in range(count)},
        [(NAMES[i], NAMES[j], ns) for (i, j), ns in zip(rows, late, strict=True)],
        device=draw(small),
        layer=draw(small),
        role=roles,
    )


sets = st.sets(st.sampled_from(NAMES[:6]), min_size=1).map(lambda names: named(*sorted(names)))
shorter = st.one_of(
    sets.map(Remove), sets.map(lambda s: Scale(s, factor=exactly(0.5))), sets.map(lambda s: Share(s, (0,)))
)
others = st.one_of(
    sets.map(Fuse),
    st.just(Fuse(Select(), chain=("[a-e]", "[b-h]"))),
    sets.map(lambda s: Split(s, 3)),
    sets.map(lambda s: Break(s, exactly(0.01))),
    st.builds(Move, sets, sets, st.none() | st.just(1)),
    st.builds(Overlap, sets, sets),
    sets.map(Serialize),
    sets.map(lambda s: Place(named(*NAMES), layers=(1,))),
    st.builds(Add, sets, st.just(exactly(0.01)), st.sampled_from(["after", "before"]), st.sampled_from(["run", "op"])),
)


@given(graphs(), shorter)
@settings(max_examples=60, deadline=None)
def test_less_work_is_never_a_longer_step(graph: StepGraph, edit: Edit):
    graph = replace(graph, edges=graph.edges.take(graph.edges.latency >= 0))  # an overlap shrinks with its source
    assert (np.array(after(graph, edit)) <= wall_of(replay(graph))).all()


@given(graphs(), st.lists(st.one_of(shorter, others), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_edits_on_top_of_each_other_can_be_replayed(graph: StepGraph, edits: list[Edit]):
    assert all(wall >= 0 for wall in after(graph, *edits))
