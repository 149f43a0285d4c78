"""Fusions worth proposing: chains that repeat layer by layer, each replayed as one op.

    for row in suggest(graph, settings):
        print(row.chain.names, row.answer.alone.delta_ms)

A chain of n ops saves n − 1 node costs where nothing else holds the step back, and nothing where it is
hidden: the replay decides. Candidates are chosen by how many ops they leave out (whatif/repeating_chains.py),
rows come by predicted saving. What a fused kernel would really take is not known: traffic is left as it is
unless the run has costs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stepprof.analyses.graph.slack import slack
from stepprof.analyses.graph.step_graph import StepGraph
from stepprof.analyses.inflation import TracingInflation
from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.short_names import short_name
from stepprof.analyses.vocabulary import PHASES, ROLES
from stepprof.analyses.whatif.answer import Settings, evaluate
from stepprof.analyses.whatif.proposal_model import Fuse, Proposal, Select
from stepprof.analyses.whatif.repeating_chains import Chain, repeating_chains
from stepprof.analyses.whatif.result import Answer, WhatIf

MOST = 10


@dataclass(frozen=True)
class Suggestion:
    """A chain, the proposal to fuse it, and what that would do."""

    chain: Chain
    proposal: Proposal
    answer: Answer


@dataclass(frozen=True)
class Suggested:
    """Rows by predicted saving, and the whole answer that they are of; None where no chain repeats."""

    rows: list[Suggestion]
    whatif: WhatIf | None
    inflation: TracingInflation | None = None


def suggest(graph: StepGraph, settings: Settings, most: int = MOST) -> Suggested:
    """At most `most` fusions, the one that saves most first."""
    chains = repeating_chains(graph, slack(graph), most)
    if not chains:
        return Suggested([], None, settings.inflation)
    names = _names(chains)
    proposals = [proposal_of(chain, name) for chain, name in zip(chains, names, strict=True)]
    found = evaluate(graph, proposals, settings)
    rows = [Suggestion(*row) for row in zip(chains, proposals, found.proposals, strict=True)]
    rows.sort(key=lambda row: row.answer.alone.delta_ms.value or 0.0)
    return Suggested(rows, found, settings.inflation)


def proposal_of(chain: Chain, name: str) -> Proposal:
    """The fusion of every place of a chain; also of those that the trace puts into no layer."""
    select = Select(phase=() if chain.phase == UNKNOWN else (PHASES[chain.phase],), device=(chain.device,))
    return Proposal(name, (Fuse(select, tuple(f"^{re.escape(op)}$" for op in chain.names)),))


def _names(chains: Sequence[Chain]) -> list[str]:
    """After the roles of a chain, else its first op; numbered where two would be alike."""
    made: list[str] = []
    for chain in chains:
        roles = dict.fromkeys(ROLES[role] for role in chain.roles if role != UNKNOWN)
        name = f"fuse {' + '.join(roles) or short_name(chain.names[0])}"
        alike = sum(old == name or old.startswith(f"{name} (") for old in made)
        made.append(f"{name} ({alike + 1})" if alike else name)
    return made
