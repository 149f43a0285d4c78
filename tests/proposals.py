"""Proposals and assumptions by hand, for tests: node cost 5 ns (4 to 8), figures without bounds.

after(graph, Remove(Select(name="^b$")))     # [steps] replayed lengths of the edited steps
"""

from __future__ import annotations

from stepprof.analyses.graph.node_cost import Interval, NodeCost
from stepprof.analyses.graph.replay import replay, wall_of
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.whatif.assumptions import Assumptions
from stepprof.analyses.whatif.edits import apply
from stepprof.analyses.whatif.proposal_model import Edit, Given, Select

COST = NodeCost(Interval(5, 4, 8), Interval(2, 2, 2), Interval(3, 2, 6), "quoted", "by hand")
ASSUME = Assumptions(COST)


def exactly(value: float) -> Given:
    """A figure without bounds."""
    return Given(value, value, value)


def named(*names: str) -> Select:
    """Ops of exactly these names."""
    return Select(name=f"^({'|'.join(names)})$")


def after(graph: StepGraph, *edits: Edit, assume: Assumptions = ASSUME) -> list[int]:
    """Replayed length of each step with these edits."""
    for edit in edits:
        graph = apply(graph, edit, assume).graph
    return wall_of(replay(graph)).tolist()
