"""What stepprof whatif does with predictions: put them on record, score them, show the record.

    predict(answer, keeping, before_ms)          # entries that wait for their measurement
    score_recorded(keeping, "share-topk")        # the measured figures into such an entry
    score_anew(answer, keeping, "share-topk")    # the same, or a new entry where none waits

A prediction is tied to the content of the trace that it was made from.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from stepprof.analyses.compare.launches import Launch
from stepprof.analyses.inflation import TracingInflation, farthest, inflation_warning
from stepprof.analyses.whatif.result import WhatIf
from stepprof.analyses.whatif.score import measured, prediction
from stepprof.analyses.whatif.scores import Score, append, fill, pending_at, read_scores
from stepprof.analyses.whatif.track_record import record_of
from stepprof.profiler.commands.launch_files import opened_launch
from stepprof.profiler.commands.shared import print_json
from stepprof.profiler.errors import InputError, Refused, UsageError
from stepprof.profiler.ingest.importer import content_hash
from stepprof.profiler.report import terminal
from stepprof.profiler.report.document_scores import scores_document
from stepprof.profiler.report.terminal_scores import show_scores
from stepprof.profiler.store import Store

HASH = 16  # characters of a trace's hash that an entry keeps


@dataclass(frozen=True)
class Named:
    """The files of a command line."""

    trace: Path
    proposals: Path | None
    after: Path | None = None


@dataclass(frozen=True)
class Keeping:
    """What a prediction is made from, where it is kept, and the launches that it is held against."""

    named: Named
    scores: Path
    control: tuple[Path, ...] = ()
    candidate: tuple[Path, ...] = ()

    @property
    def trace_id(self) -> str:
        """Name and hash of the trace."""
        trace = self.named.trace
        try:
            return f"{trace.name} {content_hash(trace)[:HASH]}"
        except OSError as fault:
            raise InputError(f"{trace} cannot be read ({fault.strerror}): check its name.") from None


@dataclass(frozen=True)
class Arms:
    """Step time of each launch, ms; what tracing did to the traced ones."""

    control: list[float]
    candidate: list[float]
    traced: list[tuple[str, TracingInflation | None]]


@dataclass(frozen=True)
class Before:
    """The step that predictions start from, where it is from, and the traced launches among those."""

    step_ms: float
    source: str
    traced: list[tuple[str, TracingInflation | None]] = field(default_factory=list[tuple[str, TracingInflation | None]])


@dataclass(frozen=True)
class Scored:
    """An entry with its measurement, and the launches that this is of."""

    entry: Score
    arms: Arms


def named_files(files: Sequence[Path], mode: str, candidates: bool) -> Named:
    """TRACE and PROPOSALS.toml; TRACE alone to suggest; BEFORE, AFTER and perhaps PROPOSALS.toml to score."""
    if mode != "score":
        wanted = 1 if mode == "suggest" else 2
        if len(files) != wanted:
            usage = "stepprof whatif TRACE --suggest" if wanted == 1 else "stepprof whatif TRACE PROPOSALS.toml"
            raise UsageError(f"files named: {len(files)}; write {usage}.")
        return Named(files[0], None if wanted == 1 else files[1])
    tables = [path for path in files if path.suffix == ".toml"]
    traces = [path for path in files if path.suffix != ".toml"]
    if len(tables) > 1 or len(traces) != (1 if candidates else 2):
        after = "BEFORE --candidate FILE…" if candidates else "BEFORE AFTER"
        raise UsageError(
            f"files named: {len(files)}; write stepprof whatif --score {after} --proposal NAME [PROPOSALS.toml]."
        )
    return Named(traces[0], tables[0] if tables else None, None if candidates else traces[1])


def arms_of(control: Sequence[Path], candidate: Sequence[Path]) -> Arms:
    """The launches of both arms; InputError where they are not measured alike, UsageError for a file given twice."""
    files = [*control, *candidate]
    seen = [path.resolve() for path in files]
    if twice := next((path for path in seen if seen.count(path) > 1), None):
        raise UsageError(f"{twice.name} is given twice: each launch counts once.")
    times: list[float] = []
    traced: list[tuple[str, TracingInflation | None]] = []
    kinds: dict[tuple[str, str], str] = {}
    for path in files:
        with opened_launch(path) as launch:
            times.append(step_ms(launch))
            kinds[launch.kind, launch.measure] = launch.name
            traced += [(launch.name, launch.inflation)] if launch.kind == "trace" else []
    if len(kinds) > 1:
        said = ", ".join(f"{name} ({kind}, {measure})" for (kind, measure), name in kinds.items())
        raise InputError(f"step times of different kinds cannot be held together: {said}: give one kind for both arms.")
    return Arms(times[: len(control)], times[len(control) :], traced)


def step_ms(launch: Launch) -> float:
    """Median steady step; Refused where it was not measured."""
    if launch.figure_kind != "measured":
        raise Refused(f"{launch.name}: its step times are {launch.figure_kind}; a score needs measured ones.")
    return float(np.median(launch.step_ms))


def untraced_step(store: Store) -> float | None:
    """Median over the untraced controls of a capture, ms; None where it has none."""
    text = store.value("SELECT value FROM manifest WHERE key = 'control_step_p50_ns'")
    return None if text is None else float(np.median(json.loads(text))) / 1e6


def step_before(found: WhatIf, keeping: Keeping, untraced_ms: float | None) -> Before:
    """The first of these that there is."""
    if keeping.control:
        arms = arms_of(keeping.control, [])
        return Before(float(np.median(arms.control)), "launches of --control", arms.traced)
    if untraced_ms is not None:
        return Before(untraced_ms, "the capture's untraced control")
    assert found.step_ms.value is not None, f"{found.step_ms=}"
    return Before(found.step_ms.value, "the trace as traced (--control: untraced launches)")


def predict(found: WhatIf, keeping: Keeping, before_ms: float) -> list[Score]:
    """Put predictions on record, all or none."""
    made = [_predicted(found, answer.name, keeping, before_ms) for answer in found.proposals]
    append(keeping.scores, *made)
    return made


def score_recorded(keeping: Keeping, name: str) -> Scored:
    """Fill the entry on record, its prediction as it stands; Refused where none waits."""
    recorded = read_scores(keeping.scores)
    at = pending_at(recorded, name, keeping.trace_id)
    if at is None:
        raise Refused(
            f"{keeping.scores}: no prediction of '{name}' from {keeping.trace_id} waits for its measurement: "
            "name the proposals file too, so that one is made."
        )
    arms = _arms(keeping)
    return Scored(fill(keeping.scores, measured(recorded[at], arms.control, arms.candidate)), arms)


def score_anew(found: WhatIf, keeping: Keeping, name: str) -> Scored:
    """Fill the entry on record if it says the same, else Refused; add an entry where none waits."""
    arms = _arms(keeping)
    made = _predicted(found, name, keeping, float(np.median(arms.control)))
    made = measured(made, arms.control, arms.candidate)
    if pending_at(read_scores(keeping.scores), name, made.trace) is not None:
        return Scored(fill(keeping.scores, made), arms)
    append(keeping.scores, made)
    return Scored(made, arms)


def _arms(keeping: Keeping) -> Arms:
    """Given launches; BEFORE and AFTER themselves where none are."""
    named = keeping.named
    return arms_of(keeping.control or (named.trace,), keeping.candidate or ((named.after,) if named.after else ()))


def _predicted(found: WhatIf, name: str, keeping: Keeping, before_ms: float) -> Score:
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    table = keeping.named.proposals.name if keeping.named.proposals else ""
    command = shlex.join(["stepprof", "whatif", keeping.named.trace.name, table, "--proposal", name])
    return prediction(found, name, keeping.trace_id, before_ms, today, command)


def show_record(path: Path, json: bool) -> None:
    """--scores"""
    scores = read_scores(path)
    found, waiting = record_of(scores), [score for score in scores if score.pending]
    if json:
        print_json(scores_document(path, found, waiting))
    else:
        show_scores(terminal.console(), path, found, waiting)


def show_predicted(made: Sequence[Score], found: WhatIf, path: Path, before: Before, json: bool) -> None:
    """--predict-only; the document is the entries alone, so that what tracing cost is told beside it."""
    out = terminal.console(stderr=json)
    if json:
        print_json([msgspec.to_builtins(score) for score in made])
    else:
        _show_table(out, made, path, before)
    terminal.show_inflation(out, found.inflation)
    terminal.show_tracing(out, before.traced)
    terminal.show_warnings(out, list(found.warnings))


def _show_table(out: Console, made: Sequence[Score], path: Path, before: Before) -> None:
    out.print(terminal.plain(f"step today {before.step_ms:.4f} ms, from {before.source}"))
    out.print(f"{'proposal':<30}{'saves ms':>10}{'interval':>20}{'step ms':>10}  modelled", style="bold")
    for score in made:
        low, high = score.interval_ms
        name, bounds = terminal.clean(score.proposal)[:29], f"{low:+.4f} … {high:+.4f}"
        saved, step = score.predicted_saving_ms, score.predicted_step_ms
        out.print(terminal.plain(f"{name:30}{saved:+10.4f}{bounds:>20}{step:10.4f}"))
    out.print(terminal.plain(f"on record in {path}: commit it, run the candidates, then --score"))


def show_scored(scored: Scored, json: bool) -> None:
    """--score; the document is the entry alone."""
    out = terminal.console(stderr=json)
    if json:
        print_json(msgspec.to_builtins(scored.entry))
    else:
        _show_entry(out, scored.entry)
    terminal.show_tracing(out, scored.arms.traced)
    traced = {one.ratio: one for _, one in scored.arms.traced if one}
    worst = traced.get(farthest(traced))
    inflated = inflation_warning(worst)
    terminal.show_warnings(out, [inflated] if inflated else [])


def _show_entry(out: Console, score: Score) -> None:
    assert score.measured_saving_ms is not None
    low, high = score.interval_ms
    floor = "unknown (one control)" if score.noise_floor_ms is None else f"{score.noise_floor_ms:.4f} ms"
    out.print(terminal.plain(score.proposal), style="bold")
    out.print(f"predicted saving {score.predicted_saving_ms:+.4f} ms ({low:+.4f} … {high:+.4f}), modelled")
    out.print(f"measured saving  {score.measured_saving_ms:+.4f} ms, noise floor {floor}")
    out.print(f"step             {score.predicted_step_ms:.4f} ms predicted, {score.measured_step_ms:.4f} ms measured")
    out.print(f"simple guesses   nothing changes +0.0000, sum of removed work {score.null_sum_of_work_ms:+.4f} ms")
    if score.human_estimate_ms is not None:
        out.print(f"human            {score.human_estimate_ms:+.4f} ms, quoted")
