"""The file of scored what-if predictions: a JSON list, one entry a line, that only grows.

    append(Path("whatif_scores.json"), score)      # whole or not at all, also with others at work
    fill(Path("whatif_scores.json"), measured)     # the measured figures of an entry that has none yet

Times are ms a step. A saving is positive where the step gets shorter, and so is a human's estimate
here. `measured_*` are null until the candidate ran: what was predicted before is never changed after.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from stepprof.profiler.errors import InputError, Refused

Finite = Annotated[float, Meta(ge=-1e12, le=1e12)]
PREDICTION = ("predicted_saving_ms", "interval_ms", "null_sum_of_work_ms", "human_estimate_ms")
MEASUREMENT = ("measured_step_ms", "measured_saving_ms", "noise_floor_ms")
DEFAULT = Path("whatif_scores.json")


class Score(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prediction and, once its candidate ran, what came of it; keys as in the file."""

    proposal: str
    trace: str  # name and hash of what the prediction was made from
    predicted_step_ms: Finite
    measured_step_ms: Finite | None
    predicted_saving_ms: Finite
    interval_ms: tuple[Finite, Finite]  # of the saving
    measured_saving_ms: Finite | None
    noise_floor_ms: Finite | None  # None too where one control launch cannot tell
    null_sum_of_work_ms: Finite  # saving if all work that is taken away were saved
    human_estimate_ms: Finite | None  # saving
    date: str
    gpu: str
    command: str

    @property
    def pending(self) -> bool:
        """Whether the candidate is still to be measured."""
        return self.measured_step_ms is None or self.measured_saving_ms is None


def read_scores(path: Path) -> list[Score]:
    """All entries in their order, none where there is no file; InputError where it is no such file."""
    return [_score(path, number, entry) for number, entry in enumerate(_entries(path), 1)]


def append(path: Path, *scores: Score) -> None:
    """Add entries at the end; Refused where one is already there that waits for the same measurement."""

    def change(entries: list[Any]) -> list[Any]:
        read = [_score(path, number, entry) for number, entry in enumerate(entries, 1)]
        for score in scores:
            if pending_at(read, score.proposal, score.trace) is not None:
                raise Refused(
                    f"{path}: a prediction of '{score.proposal}' from {score.trace} is on record and not measured yet: "
                    "score that one with --score."
                )
        return entries + [msgspec.to_builtins(score) for score in scores]

    _rewrite(path, change)


def fill(path: Path, score: Score) -> Score:
    """Write the measured figures into the entry that waits for them, and return it.

    `score` is the same prediction with its measurement; Refused where it does not predict what is on record,
    or where no entry waits.
    """
    filled: list[Score] = []

    def change(entries: list[Any]) -> list[Any]:
        read = [_score(path, number, entry) for number, entry in enumerate(entries, 1)]
        at = pending_at(read, score.proposal, score.trace)
        if at is None:
            raise Refused(
                f"{path}: no prediction of '{score.proposal}' from {score.trace} waits for its measurement: "
                "make one with --predict-only."
            )
        _check_unchanged(path, read[at], score)
        entries[at] = entries[at] | {key: msgspec.to_builtins(score)[key] for key in MEASUREMENT}
        filled.append(_score(path, at + 1, entries[at]))
        return entries

    _rewrite(path, change)
    return filled[0]


def pending_at(scores: list[Score], proposal: str, trace: str) -> int | None:
    """The place of the entry that waits for this measurement."""
    return next(
        (i for i, old in enumerate(scores) if old.pending and (old.proposal, old.trace) == (proposal, trace)), None
    )


def _check_unchanged(path: Path, old: Score, new: Score) -> None:
    for key in PREDICTION:
        if getattr(old, key) != getattr(new, key):
            raise Refused(
                f"{path}: '{new.proposal}' was predicted with {key} {getattr(old, key)}, now it would be "
                f"{getattr(new, key)}; what was predicted is not changed: score it without the proposals file."
            )


def _entries(path: Path) -> list[Any]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except OSError as fault:
        raise InputError(f"{path} cannot be read ({fault.strerror}): name a scores file.") from None
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise InputError(f"{path} is no list of scores: name another file with --scores-file, or mend it.")
    return found


def _score(path: Path, number: int, entry: Any) -> Score:
    try:
        return msgspec.convert(entry, Score)
    except msgspec.ValidationError as fault:
        raise InputError(f"{path}, entry {number}: {fault}: mend it, or name another file.") from None


def _rewrite(path: Path, change: Callable[[list[Any]], list[Any]]) -> None:
    """The changed list in a new file that takes the old one's place; others wait meanwhile."""
    try:
        with _alone(path.parent):
            lines = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in change(_entries(path))]
            _replace(path, "[\n" + ",\n".join(f" {line}" for line in lines) + "\n]\n")
    except OSError as fault:
        raise InputError(f"{path} cannot be written ({fault.strerror}): choose another file.") from None


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """A lock on the folder, so that it leaves nothing behind."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode if path.exists() else 0o644
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name[:40]}.", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, mode & 0o777)
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
