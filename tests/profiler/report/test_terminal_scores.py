"""The track record for a person: every miss is said in words, lines stay within 80 columns."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from stepprof.analyses.whatif.scores import Score
from stepprof.analyses.whatif.track_record import record_of
from stepprof.profiler.report.terminal_scores import faults, show_scores
from tests.analyses.whatif.test_scores import measured, score


def said(entry: Score) -> list[str]:
    """8 ms before, 0.5 ms saving predicted (0.4 to 0.6); noise floor 0.05."""
    return faults(record_of([entry]).rows[0])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"measured_saving_ms": 0.45, "measured_step_ms": 7.55}, []),
        (
            {"measured_saving_ms": -0.3, "measured_step_ms": 8.3},
            [
                "sign wrong, saving off by more than a quarter and the noise, outside the interval, "
                "a simple guess was as near"
            ],
        ),
        (
            {"measured_saving_ms": 0.33, "measured_step_ms": 7.67},
            ["saving off by more than a quarter and the noise, outside the interval"],
        ),
        (
            {"measured_saving_ms": 0.02, "measured_step_ms": 7.98},
            ["the measured change is within the noise floor", "but a larger change was predicted"],
        ),
        (
            {"measured_saving_ms": 0.45, "measured_step_ms": 7.55, "noise_floor_ms": 0.5},
            ["the measured change is within the noise floor"],
        ),
        ({"noise_floor_ms": None}, ["one control launch gives no noise floor: neither right nor wrong"]),
    ],
)
def test_a_miss_is_said_in_words(given: dict[str, Any], expected: list[str]):
    assert said(measured(**given)) == expected


def test_a_record_fits_in_80_columns_and_names_do_not_drive_the_terminal():
    text = io.StringIO()
    out = Console(file=text, width=80, color_system=None, soft_wrap=True, highlight=False)
    wide = measured("a name\x1b[2J that is longer than its column", measured_saving_ms=-12.345, measured_step_ms=9.9)
    show_scores(out, Path("scores.json"), record_of([wide, score("waits")]), [score("waits")])
    assert max(map(len, text.getvalue().splitlines())) <= 80
    assert "\x1b" not in text.getvalue()
    assert "-12.345" in text.getvalue() and "waits" in text.getvalue()
