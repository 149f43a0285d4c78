"""The further files of stepprof report: benches, proposals, launches to compare with; read and evaluated.

beside = answered(files, question, trace, store, found, chosen)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stepprof.analyses.attribution import Attribution, Question
from stepprof.analyses.bench.results import read_bench
from stepprof.analyses.bench.savings import savings
from stepprof.analyses.compare.comparison import Comparison, Sample, compared, sample_of
from stepprof.analyses.graph.critical_path import build_graph
from stepprof.analyses.sidecar.answer import SidecarQuestion
from stepprof.analyses.whatif.answer import evaluate
from stepprof.analyses.whatif.proposals import read_proposals
from stepprof.analyses.whatif.result import WhatIf
from stepprof.analyses.whatif.scores import Score, read_scores
from stepprof.analyses.whatif.settings import Figures, settings_of
from stepprof.analyses.whatif.track_record import record_of
from stepprof.profiler.commands.launch_files import opened_launch
from stepprof.profiler.errors import Refused, UsageError
from stepprof.profiler.report.html.beside import Bench, Beside, Scores, asked
from stepprof.profiler.store import Store


@dataclass(frozen=True)
class Files:
    """What the user names beside the trace."""

    bench: Path | None = None
    bar_us: float | None = None
    proposals: Path | None = None
    scores: Path | None = None
    kept: float | None = None
    vs: Sequence[Path] = ()
    replicates: Sequence[Path] = ()  # further launches of the trace's own setup
    warm_up: int = 0


def check(trace: Path, files: Files) -> None:
    """UsageError where options miss each other, before anything is read."""
    if files.bar_us is not None and files.bench is None:
        raise UsageError("--bar belongs to --bench FILE: add it.")
    for name, value in (("--kept", files.kept), ("--scores", files.scores)):
        if value is not None and files.proposals is None:
            raise UsageError(f"{name} belongs to --whatif FILE: add it.")
    for name, value in (("--kept", files.kept), ("--bar", files.bar_us)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{name} {value:g} must be above 0.")
    if (files.replicates or files.warm_up) and not files.vs:
        raise UsageError("--replicate and --warm-up belong to --vs FILE: add it.")
    launches = [path.resolve() for path in (trace, *files.replicates, *files.vs)]
    twice = next((path for path in launches if launches.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice.name} is given twice: each launch counts once.")


def answered(
    files: Files,
    question: Question,
    of_sidecar: SidecarQuestion,
    trace: Path,
    store: Store,
    found: Attribution,
    chosen: Sequence[int] | None,
) -> Beside:
    """Every answer; what the traces cannot answer is refused on the page and stops nothing."""
    bench = None if files.bench is None else read_bench(files.bench)
    steps = list(found.steps.usable if chosen is None else chosen)
    beside = asked(store, found, steps, of_sidecar)
    if bench is not None:
        beside = replace(beside, bench=Bench(bench, savings(bench, files.bar_us)))
    if files.proposals is not None:
        beside = _whatif(beside, files, question, store, found, chosen)
    if files.vs:
        beside = _comparison(beside, files, question, trace)
    return beside


def _whatif(
    beside: Beside,
    files: Files,
    question: Question,
    store: Store,
    found: Attribution,
    chosen: Sequence[int] | None,
) -> Beside:
    assert files.proposals is not None
    proposals = read_proposals(files.proposals)
    try:
        graph = build_graph(found, store, chosen)
        answer: WhatIf = evaluate(graph, proposals, settings_of(store, found, graph, Figures(files.kept), question))
    except Refused as fault:
        return beside.refused("What-if", str(fault))
    return replace(beside, whatif=answer, scores=None if files.scores is None else _scores(files.scores))


def _scores(path: Path) -> Scores:
    scores: list[Score] = read_scores(path)
    return Scores(path, record_of(scores), [score for score in scores if score.pending])


def _comparison(beside: Beside, files: Files, question: Question, trace: Path) -> Beside:
    """The trace and its replicates are the control; each launch is let go before the next is read."""
    try:
        arms = [
            [_sample(path, question, files.warm_up) for path in arm] for arm in ([trace, *files.replicates], files.vs)
        ]
    except Refused as fault:
        return beside.refused("Comparison", str(fault))
    found: Comparison = compared(*arms)
    beside = replace(beside, comparison=found)
    return beside.refused("Comparison", found.reason) if found.outcome == "refused" else beside


def _sample(path: Path, question: Question, warm_up: int) -> Sample:
    with opened_launch(path, question, warm_up) as launch:
        return sample_of(launch)
