"""One layer of the capture that comes with stepprof, by hand: what a faster sidecar call could save there."""

import numpy as np
import pytest

from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.graph.node_cost import node_cost
from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.step_graph import FULL, StepGraph
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.proposal_model import Proposal, Scale, Select
from stepprof.analyses.whatif.settings import Figures, settings_of
from tests.proposals import ASSUME, after, exactly
from tests.real_runs import attributed, run_of

OVERLAP = "h200x2_overlap.sqlite"


@pytest.fixture(scope="module")
def graph() -> StepGraph:
    return build_graph(attributed(OVERLAP, edges=True), run_of(OVERLAP, edges=True))


def join(graph: StepGraph, layer: int) -> tuple[np.ndarray, int]:
    """At the op that adds a layer's cold experts: how late the sidecar is [steps] ns, and what its signal takes more."""
    edges, nodes = graph.edges, graph.nodes
    adds = np.flatnonzero([label[-1:] == (f"layer/{layer}/accumulate",) for label in nodes.label])[0]
    entering = np.flatnonzero((edges.target == adds) & (edges.kind == FULL))
    side = nodes.device[edges.source[entering]] == 1
    ends, latency = graph.end[edges.source[entering]], edges.latency[entering]
    return ends[side].max(axis=0) - ends[~side].max(axis=0), int(latency[side].max() - latency[~side].max())


# rows of the call, wait in step 0 as counted from the true edges
@pytest.mark.parametrize(("layer", "wait"), [(1, 40262), (2, 103046), (3, 214661), (4, 319365)])
def test_a_call_at_zero_time_saves_its_join_wait_and_the_signal_back(graph: StepGraph, layer: int, wait: int):
    late, signal = join(graph, layer)
    assert late[0] == wait
    call = Select(device=(1,), label=f"sidecar/{layer} rows=")
    saved = wall_of(replay(graph)) - np.array(after(graph, Scale(call, factor=exactly(0)), assume=ASSUME))
    assert saved.mean() == pytest.approx(late.mean() + signal, abs=500)
    # the call works longer than that: the rest is hidden behind main's experts
    work = graph.duration[(graph.nodes.device == 1) & (graph.nodes.layer == layer)].sum(axis=0)
    assert (work > saved).all()


def test_hidden_work_of_the_main_card_saves_nothing(graph: StepGraph):
    # main's experts end before the sidecar does wherever there is a call
    layers = tuple(sorted(set(graph.nodes.layer[graph.nodes.device == 1].tolist())))
    experts = Scale(Select(role=("expert_gemm",), layer=layers), factor=exactly(0.5))
    settings = settings_of(run_of(OVERLAP, edges=True), attributed(OVERLAP, edges=True), graph, Figures())
    assert isinstance(settings, Settings) and settings.assume.node_cost == node_cost(graph)
    found = evaluate(graph, [Proposal("experts twice as fast", (experts,))], settings).proposals[0]
    assert found.removed_work_ms.value == pytest.approx(0.601, abs=0.001)
    assert found.alone.delta_ms.value == pytest.approx(0, abs=0.001)
    assert found.hidden_ms.value == pytest.approx(0.601, abs=0.002)
