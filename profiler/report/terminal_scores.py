"""`stepprof whatif --scores` for a person: every scored prediction, misses included, and the record in one line."""

from __future__ import annotations

import textwrap
from pathlib import Path

from rich.console import Console
from rich.text import Text

from stepprof.analyses.whatif.scores import Score
from stepprof.analyses.whatif.track_record import Judged, Record, sentence
from stepprof.profiler.report.terminal import WIDTH, clean


def show_scores(out: Console, path: Path, record: Record, waiting: list[Score]) -> None:
    """One line a prediction, its faults beneath; then what waits, then the record."""
    out.print(Text(f"{clean(str(path))}: savings in ms a step, errors of the step in %"), style="bold")
    out.print(
        f"{'proposal':<21}{'predicted':>10}{'interval':>18}{'measured':>9}{'floor':>7}{'error':>6}{'none':>5}{'sum':>4}",
        style="bold",
    )
    for row in record.rows:
        _row(out, row)
    for score in waiting:
        out.print(Text(f"{_name(score)}{_predicted(score)}{'waits':>9}"))
    out.print("error: of the predicted step; none: if nothing changed; sum: if all work that is")
    out.print("taken away were saved. Predictions are modelled, the rest is measured.")
    out.print(Text(textwrap.fill(sentence(record), WIDTH)), style="bold")


def _row(out: Console, row: Judged) -> None:
    score = row.score
    floor = "-" if score.noise_floor_ms is None else f"{score.noise_floor_ms:.3f}"
    errors = f"{100 * row.step_error:6.1f}{100 * row.no_change_error:5.1f}{100 * row.sum_of_work_error:4.0f}"
    out.print(Text(f"{_name(score)}{_predicted(score)}{score.measured_saving_ms:+9.3f}{floor:>7}{errors}"))
    for fault in faults(row):
        out.print(Text(textwrap.fill(fault, WIDTH, initial_indent="  ", subsequent_indent="  ")))


def _name(score: Score) -> str:
    return f"{clean(score.proposal)[:20]:21}"


def _predicted(score: Score) -> str:
    low, high = score.interval_ms
    return f"{score.predicted_saving_ms:+10.3f}{f'{low:+.3f} … {high:+.3f}':>18}"


def faults(row: Judged) -> list[str]:
    """What a prediction got wrong, in words; nothing where it was right."""
    if row.above_floor is None:
        return ["one control launch gives no noise floor: neither right nor wrong"]
    if not row.above_floor:
        return ["the measured change is within the noise floor"] + (
            [] if row.saving_right else ["but a larger change was predicted"]
        )
    made = [
        (row.sign_right is False, "sign wrong"),
        (not row.saving_right, "saving off by more than a quarter and the noise"),
        (not row.covered_but_for_noise, "outside the interval"),
        (not row.beats_both, "a simple guess was as near"),
    ]
    said = ", ".join(text for wrong, text in made if wrong)
    return [said] if said else []
