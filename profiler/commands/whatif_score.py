"""What stepprof whatif does with predictions: put them on record, score them, show the record.

    predict(found, ["share-topk"], basis)          # entries that wait for their measurement
    score(basis, "share-topk", arms, found)        # the measured figures, into the entry or as a new one

A prediction is tied to the content of the trace that it was made from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from stepprof.analyses.launches import Launch
from stepprof.analyses.whatif_result import WhatIf
from stepprof.analyses.whatif_score import measured, prediction
from stepprof.analyses.whatif_scores import Score, append, fill, pending_at, read_scores
from stepprof.profiler.commands.launch_files import opened_launch
from stepprof.profiler.errors import InputError, Refused, UsageError
from stepprof.profiler.ingest.importer import content_hash
from stepprof.profiler.store import Store

HASH = 16  # characters of a trace's hash that an entry keeps


@dataclass(frozen=True)
class Basis:
    """What a prediction is made from and where it is kept."""

    trace: Path
    scores: Path
    command: str

    @property
    def trace_id(self) -> str:
        """Name and hash of the trace."""
        try:
            return f"{self.trace.name} {content_hash(self.trace)[:HASH]}"
        except OSError as fault:
            raise InputError(f"{self.trace} cannot be read ({fault.strerror}): check its name.") from None


@dataclass(frozen=True)
class Arms:
    """Step time of each launch, ms."""

    control: list[float]
    candidate: list[float]


def arms_of(control: Sequence[Path], candidate: Sequence[Path]) -> Arms:
    """The launches of both arms; InputError where they are not measured alike, UsageError for a file given twice."""
    files = [*control, *candidate]
    seen = [path.resolve() for path in files]
    if twice := next((path for path in seen if seen.count(path) > 1), None):
        raise UsageError(f"{twice.name} is given twice: each launch counts once.")
    times: list[float] = []
    kinds: dict[tuple[str, str], str] = {}
    for path in files:
        with opened_launch(path) as launch:
            times.append(step_ms(launch))
            kinds[launch.kind, launch.measure] = launch.name
    if len(kinds) > 1:
        said = ", ".join(f"{name} ({kind}, {measure})" for (kind, measure), name in kinds.items())
        raise InputError(f"step times of different kinds cannot be held together: {said}: give one kind for both arms.")
    return Arms(times[: len(control)], times[len(control) :])


def step_ms(launch: Launch) -> float:
    """Median steady step; Refused where the launch says no times, or times that were not measured."""
    if launch.figure_kind != "measured":
        raise Refused(f"{launch.name}: its step times are {launch.figure_kind}; a score needs measured ones.")
    return float(np.median(launch.step_ms))


def step_before(store: Store, found: WhatIf, control: Sequence[Path]) -> float:
    """Step that a prediction starts from, ms: of control launches, else of the trace's untraced control, else traced."""
    if control:
        return float(np.median(arms_of(control, []).control))
    text = store.value("SELECT value FROM manifest WHERE key = 'control_step_p50_ns'")
    if text is not None:
        return float(np.median(json.loads(text))) / 1e6
    assert found.step_ms.value is not None, f"{found.step_ms=}"
    return found.step_ms.value


def predict(found: WhatIf, names: Sequence[str], basis: Basis, before_ms: float) -> list[Score]:
    """Put predictions on record that wait for their measurement; all or none."""
    made = [_predicted(found, name, basis, before_ms) for name in names]
    append(basis.scores, *made)
    return made


def score(basis: Basis, name: str, arms: Arms, found: WhatIf | None) -> Score:
    """Fill the entry on record, else add one; `found` None takes the recorded prediction as it stands.

    Refused where `found` predicts something else than what is on record, or nothing is on record and `found` is None.
    """
    recorded = read_scores(basis.scores)
    waits = pending_at(recorded, name, basis.trace_id)
    if found is None and waits is None:
        raise Refused(
            f"{basis.scores}: no prediction of '{name}' from {basis.trace_id} waits for its measurement: "
            "give the proposals file, so that one is made."
        )
    if found is None:
        assert waits is not None
        return fill(basis.scores, measured(recorded[waits], arms.control, arms.candidate))
    made = measured(_predicted(found, name, basis, float(np.median(arms.control))), arms.control, arms.candidate)
    if waits is not None:
        return fill(basis.scores, made)
    append(basis.scores, made)
    return made


def _predicted(found: WhatIf, name: str, basis: Basis, before_ms: float) -> Score:
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return prediction(found, name, basis.trace_id, before_ms, today, basis.command)
