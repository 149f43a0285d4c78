"""Which steps a question is about: all whole ones, one (`--step`), or a slice (`--steps A:B`)."""

from __future__ import annotations

from collections.abc import Sequence

from stepprof.analyses.steps import Steps
from stepprof.profiler.errors import UsageError


def chosen_steps(steps: Steps, step: int | None = None, span: str | None = None) -> list[int] | None:
    """Indices of the chosen steps; None means the default choice. UsageError where none is meant."""
    if step is not None and span is not None:
        raise UsageError("--step and --steps exclude each other: give one of them.")
    if step is not None:
        if not 0 <= step < len(steps):
            raise UsageError(f"there is no step {step}: this trace has steps 0 to {len(steps) - 1}.")
        return [step]
    return None if span is None else _slice(steps, span)


def as_slices(chosen: Sequence[int]) -> str:
    """Steps in the words of `--steps`: 0:3, 5:6 for 0, 1, 2 and 5."""
    found: list[list[int]] = []
    for step in sorted(set(chosen)):
        if found and found[-1][1] == step:
            found[-1][1] = step + 1
        else:
            found.append([step, step + 1])
    return ", ".join(f"{first}:{end}" for first, end in found)


def _slice(steps: Steps, span: str) -> list[int]:
    low, colon, high = span.partition(":")
    try:
        chosen = range(len(steps))[int(low or 0) : int(high) if high else None]
    except ValueError:
        chosen = range(0)
    if not colon or not chosen:
        raise UsageError(f"--steps {span} chooses nothing: give A:B within 0:{len(steps)}.")
    return list(chosen)
