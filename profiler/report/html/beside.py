"""What the report shows beside where a step goes: answers to further questions, each given or refused in a sentence.

    beside = asked(store, found, steps)      # sidecar and tokens/s, which any trace can be asked
    beside.refused("Comparison", "one launch an arm …")

Answers that need further files (bench, proposals, launches) are made by the command and put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.bench.results import BenchFile
from stepprof.analyses.bench.savings import Saving
from stepprof.analyses.compare.comparison import Comparison
from stepprof.analyses.sidecar.answer import SidecarQuestion, sidecar
from stepprof.analyses.sidecar.result import Sidecar
from stepprof.analyses.speculation.answer import Ask, speculate
from stepprof.analyses.speculation.draft_lanes import Given
from stepprof.analyses.speculation.result import Speculation
from stepprof.analyses.speculation.step_records import traced_records
from stepprof.analyses.whatif.result import WhatIf
from stepprof.analyses.whatif.scores import Score
from stepprof.analyses.whatif.track_record import Record
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

T = TypeVar("T")
NO_CONTROL = (
    "no untraced control is on record, so that nobody knows how much tracing lengthened these steps (trust shares "
    "more than ms): record with stepprof capture, which runs one, or time the same steps untraced."
)


@dataclass(frozen=True)
class Refusal:
    """A question that the trace cannot answer: what was asked, why not, and the way out."""

    question: str
    text: str


@dataclass(frozen=True)
class Bench:
    """A bench file and what its modes save."""

    file: BenchFile
    savings: Sequence[Saving]


@dataclass(frozen=True)
class Scores:
    """The file of scored predictions: how good they have been."""

    path: Path
    record: Record
    waiting: list[Score]


@dataclass(frozen=True)
class Beside:
    """Answers, None where not asked or refused."""

    sidecar: Sidecar | None = None
    speculation: Speculation | None = None
    bench: Bench | None = None
    whatif: WhatIf | None = None
    scores: Scores | None = None
    comparison: Comparison | None = None
    refusals: tuple[Refusal, ...] = field(default=())

    def refused(self, question: str, text: str) -> Beside:
        """One more refusal."""
        return replace(self, refusals=(*self.refusals, Refusal(question, text)))


def asked(store: Store, found: Attribution, steps: Sequence[int], of_sidecar: SidecarQuestion | None = None) -> Beside:
    """What any trace can be asked: the sidecar's calls, tokens/s, what tracing cost."""
    refusals: list[Refusal] = []

    def tried(question: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except Refused as fault:
            refusals.append(Refusal(question, str(fault)))
            return None

    calls = tried("Sidecar", lambda: sidecar(store, found, steps, of_sidecar))
    rates = tried("tokens/s", lambda: speculate(Ask(), Given(), traced_records(store, found.steps)))
    if found.inflation is None:
        refusals.append(Refusal("What tracing costs", f"{found.source}: {NO_CONTROL}"))
    return Beside(calls, rates, refusals=tuple(refusals))
