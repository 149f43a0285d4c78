"""A draft log, `--draft LOG.csv`: what a server wrote down of its own steps, one line a step.

    drafted,kept,class,step_ms
    5,4,code,11.02

`drafted` and `kept` are needed (of one sequence; kept counts the token after the drafts), `class` and `step_ms` are
read where they are there; other columns are passed over.
"""

from __future__ import annotations

import csv
from pathlib import Path

from stepprof.analyses.ops import UNKNOWN
from stepprof.analyses.speculation.step_records import Records, records_of
from stepprof.profiler.errors import InputError

NEEDED = ("drafted", "kept")


def logged_records(path: Path) -> Records:
    """The steps of a log; InputError, which names the line, where it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
            if missing:
                has = ", ".join(reader.fieldnames or []) or "nothing"
                raise InputError(
                    f"{path}: has no column {' and '.join(missing)}, it has {has}: name it in the first line."
                )
            rows = [_row(path, reader.line_num, line) for line in reader]
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a CSV file.") from None
    except (UnicodeDecodeError, csv.Error) as fault:
        raise InputError(f"{path} is not CSV text ({fault}): name a CSV file.") from None
    if not rows:
        raise InputError(f"{path} holds no step: write one line a step below the names of the columns.")
    return records_of(path.name, rows, {})


def _row(path: Path, number: int, line: dict[str, str | None]) -> tuple[int, int, int, str | None, int]:
    try:
        drafted, kept = int(line["drafted"] or ""), int(line["kept"] or "")
        step_ms = line.get("step_ms")
        step_ns = round(float(step_ms) * 1e6) if step_ms else UNKNOWN
    except (ValueError, OverflowError) as fault:
        raise InputError(f"{path} line {number}: {fault}: drafted and kept are integers, step_ms a number.") from None
    if not (drafted >= 0 and 1 <= kept <= drafted + 1) or (step_ns != UNKNOWN and step_ns <= 0):
        raise InputError(
            f"{path} line {number}: kept {kept} of {drafted} drafted is not possible, or step_ms is not above 0: "
            "kept is 1 to drafted + 1, the token after the drafts included."
        )
    return drafted, kept, 1, line.get("class") or None, step_ns
