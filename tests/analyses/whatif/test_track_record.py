"""How predictions are judged: against the measured step, its noise and two simple guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepprof.analyses.whatif.scores import append
from stepprof.analyses.whatif.track_record import record_of, sentence, track_record
from tests.analyses.whatif.test_scores import measured, score


def test_a_row_is_held_against_both_guesses():
    """8 ms before; 7.5 predicted, 7.1 if all work were saved; 7.6 came."""
    (row,) = record_of([measured()]).rows
    assert row.step_error == pytest.approx(0.1 / 7.6)
    assert row.no_change_error == pytest.approx(0.4 / 7.6)
    assert row.sum_of_work_error == pytest.approx(0.5 / 7.6)
    assert row.saving_error_ms == pytest.approx(0.1)
    assert (row.above_floor, row.sign_right, row.saving_right, row.beats_both) == (True, True, True, True)


def test_a_miss_is_a_miss():
    (row,) = record_of([measured(measured_step_ms=8.3, measured_saving_ms=-0.3)]).rows
    assert (row.above_floor, row.sign_right, row.saving_right, row.beats_both) == (True, False, False, False)
    assert (row.covered, row.covered_but_for_noise) == (False, False)


def test_a_change_below_the_noise_floor_has_no_sign():
    (row,) = record_of([measured(measured_saving_ms=0.04, measured_step_ms=7.96)]).rows
    assert (row.above_floor, row.sign_right) == (False, None)
    (row,) = record_of([measured(noise_floor_ms=None)]).rows
    assert (row.above_floor, row.sign_right) == (None, None)


@pytest.mark.parametrize(
    ("saving", "right", "covered", "but_for_noise"),
    [(0.4, True, True, True), (0.36, False, False, True), (0.34, False, False, False), (0.65, True, False, True)],
)
def test_a_saving_is_right_within_a_quarter_or_the_noise(
    saving: float, right: bool, covered: bool, but_for_noise: bool
):
    (row,) = record_of([measured(measured_saving_ms=saving)]).rows
    assert (row.saving_right, row.covered, row.covered_but_for_noise) == (right, covered, but_for_noise)


def test_the_record_in_one_line(tmp_path: Path):
    path = tmp_path / "scores.json"
    assert track_record(path) == "Track record: no prediction has been scored (stepprof whatif --score)."
    append(path, measured(), measured(measured_step_ms=8.3, measured_saving_ms=-0.3), score("waits"))
    assert track_record(path) == (
        "Track record: 2 scored, step off by 5.5 % (median), saving right in 1 of 2, interval held in 1 of 2; "
        "above the noise floor sign right in 1 of 2, closer than both simple guesses in 1 of 2; 1 not measured yet."
    )
    assert "\n" not in sentence(record_of([measured()]))
