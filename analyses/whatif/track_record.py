"""How good what-if predictions have been: errors of step and saving, signs, intervals, beside two simple guesses.

    print(track_record(Path("whatif_scores.json")))     # one line
    record = record_of(read_scores(path))               # all rows, misses included

The guesses that a prediction has to beat: "nothing changes" and "all work that is taken away is saved".
A row counts for sign and saving only where the measured change is above the noise floor of its controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepprof.analyses.whatif.scores import Score, read_scores

NEAR = 0.25  # a saving is right within this share of it, or within the noise floor


@dataclass(frozen=True)
class Judged:
    """One scored prediction; errors of the step as shares of the measured step, errors of savings in ms."""

    score: Score
    step_error: float
    no_change_error: float
    sum_of_work_error: float
    saving_error_ms: float
    above_floor: bool | None  # None: one control launch gave no noise floor
    sign_right: bool | None  # None below the floor
    saving_right: bool  # within max(25 % of it, noise floor)
    covered: bool  # the measured saving lies in the interval
    covered_but_for_noise: bool  # it lies there once the interval is widened by the noise floor

    @property
    def beats_both(self) -> bool:
        """Closer to the measured step than either guess."""
        return self.step_error < min(self.no_change_error, self.sum_of_work_error)


@dataclass(frozen=True)
class Record:
    """Every scored prediction in order, and how many still wait."""

    rows: list[Judged]
    pending: int

    @property
    def step_error(self) -> float | None:
        """Median error of the step, a share."""
        return float(np.median([abs(row.step_error) for row in self.rows])) if self.rows else None

    @property
    def told(self) -> list[Judged]:
        """Rows whose measured change is above the noise floor."""
        return [row for row in self.rows if row.above_floor]


def record_of(scores: Sequence[Score]) -> Record:
    """Judge every entry that is measured."""
    return Record([_judged(score) for score in scores if not score.pending], sum(score.pending for score in scores))


def track_record(path: Path) -> str:
    """The record of a scores file in one sentence."""
    return sentence(record_of(read_scores(path)))


def sentence(record: Record) -> str:
    """How often, how near, against what."""
    waiting = f"; {record.pending} not measured yet" if record.pending else ""
    if not record.rows:
        return f"Track record: no prediction has been scored (stepprof whatif --score){waiting}."
    count, told = len(record.rows), record.told
    near = f"step off by {100 * (record.step_error or 0):.1f} % (median)"
    right = f"saving right in {sum(row.saving_right for row in record.rows)} of {count}"
    inside = f"interval held in {sum(row.covered for row in record.rows)} of {count}"
    sign = f"above the noise floor sign right in {sum(bool(row.sign_right) for row in told)} of {len(told)}"
    beats = f"closer than both simple guesses in {sum(row.beats_both for row in told)} of {len(told)}"
    return f"Track record: {count} scored, {near}, {right}, {inside}; {sign}, {beats}{waiting}."


def _judged(score: Score) -> Judged:
    assert score.measured_step_ms is not None and score.measured_saving_ms is not None, f"{score.proposal=}"
    measured, saving, floor = score.measured_step_ms, score.measured_saving_ms, score.noise_floor_ms
    before = score.predicted_step_ms + score.predicted_saving_ms
    miss = score.predicted_saving_ms - saving
    above = None if floor is None else abs(saving) > floor
    low, high = score.interval_ms
    slack = floor or 0.0
    return Judged(
        score,
        step_error=abs(score.predicted_step_ms - measured) / measured,
        no_change_error=abs(before - measured) / measured,
        sum_of_work_error=abs(before - score.null_sum_of_work_ms - measured) / measured,
        saving_error_ms=miss,
        above_floor=above,
        sign_right=None if not above else (score.predicted_saving_ms > 0) == (saving > 0),
        saving_right=abs(miss) <= max(NEAR * abs(saving), slack),
        covered=low <= saving <= high,
        covered_but_for_noise=low - slack <= saving <= high + slack,
    )
