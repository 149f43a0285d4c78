"""A what-if prediction as an entry of the scores file, and the measurement that it is held against.

    entry = prediction(answer, "share-topk", trace="mini.duckdb 1f2e…", before_ms=1.516, date=…, command=…)
    append(path, entry)                                          # before the candidate runs
    fill(path, measured(entry, control_ms, candidate_ms))        # after; one value a launch

The prediction comes from the trace of the control alone. The measured saving is the difference of the
medians over launches; its noise floor is what control launches differ by among themselves. Times are
rounded to ns, so that a prediction made twice is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from stepprof.analyses.statistics import noise_floor
from stepprof.analyses.toml_entries import nearest
from stepprof.analyses.whatif.result import WhatIf
from stepprof.analyses.whatif.scores import Score
from stepprof.profiler.errors import UsageError

DIGITS = 6  # of ms


def prediction(found: WhatIf, proposal: str, trace: str, before_ms: float, date: str, command: str) -> Score:
    """The named proposal alone, on a step of `before_ms`; UsageError where the file has no such proposal.

    A change of the traced step is taken over to the untraced one as it stands, in ms.
    """
    names = [answer.name for answer in found.proposals]
    if proposal not in names:
        raise UsageError(f'no proposal is named "{proposal}": {nearest(proposal, names)}.')
    answer = found.proposals[names.index(proposal)]
    delta, human = answer.alone.delta_ms, answer.human_estimate_ms
    assert delta.value is not None and delta.low is not None and delta.high is not None, f"{delta=}"
    saved = _round(-delta.value)
    return Score(
        proposal=proposal,
        trace=trace,
        predicted_step_ms=_round(before_ms - saved),
        measured_step_ms=None,
        predicted_saving_ms=saved,
        interval_ms=(_round(-delta.high), _round(-delta.low)),
        measured_saving_ms=None,
        noise_floor_ms=None,
        null_sum_of_work_ms=_round(-answer.null_sum_of_work_ms),
        human_estimate_ms=None if human is None or human.value is None else _round(-human.value),
        date=date,
        gpu=found.gpu,
        command=command,
    )


def measured(score: Score, control_ms: Sequence[float], candidate_ms: Sequence[float]) -> Score:
    """The same prediction with what came of it; each list holds one step time a launch, neither is empty."""
    before, after = float(np.median(control_ms)), float(np.median(candidate_ms))
    floor = noise_floor(control_ms, len(candidate_ms))
    return msgspec.structs.replace(
        score,
        measured_step_ms=_round(after),
        measured_saving_ms=_round(before - after),
        noise_floor_ms=None if floor is None else _round(floor),
    )


def _round(ms: float) -> float:
    return round(float(ms), DIGITS) + 0.0  # no negative zero
