"""Whether a candidate's outputs differ from the control's by more than controls differ from each other.

    compared_outputs(Path("a.jsonl"), Path("b.jsonl"), [Path("c.jsonl")])

A and the further controls are outputs of the unchanged setup, each of a launch of its own. The flips of the candidate
against A are tested against those of the controls against the same A, clustered by prompt: nothing is assumed of A,
only that an unharmed candidate would differ from it as controls do. Byte equality is no bar: the controls themselves
are not reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from stepprof.analyses.compare.output_flips import Flips, output_flips
from stepprof.analyses.compare.outputs_file import PLACES, Names, Outputs, read_outputs
from stepprof.analyses.statistics.clustered_shares import Excess, above
from stepprof.profiler.errors import InputError

FEW_PROMPTS = 20


@dataclass(frozen=True)
class Pair:
    """Two files against each other; `first_divergence_p50` is over the prompts that differ."""

    a: str
    b: str
    prompts: int
    positions: int
    flips: int
    rate: float
    differing_prompts: int
    first_divergence_p50: float | None


@dataclass(frozen=True)
class Divergence:
    """Where A and B part first."""

    prompt: str
    position: int
    a: int | str
    b: int | str


@dataclass(frozen=True)
class ComparedOutputs:
    """The answer; `test` is None without controls."""

    forced: bool
    candidate: Pair  # A against B
    controls: tuple[Pair, ...]  # A against each control
    divergences: tuple[Divergence, ...]  # A against B, by prompt
    test: Excess | None
    level: float
    regression: bool | None
    warnings: tuple[dict[str, Any], ...]
    kind: Literal["measured"] = "measured"


def compared_outputs(a: Path, b: Path, controls: Sequence[Path] = (), level: float = 0.05) -> ComparedOutputs:
    """Read and compare; InputError where the files do not fit each other."""
    names = Names()
    reference, candidate, *others = [read_outputs(path, names) for path in (a, b, *controls)]
    _check(reference, [candidate, *others])
    against = output_flips(reference, candidate, len(names.prompts))
    between = [output_flips(reference, other, len(names.prompts)) for other in others]
    for flips in (against, *between):
        if not flips.positions.any():
            raise InputError(
                f"{flips.a} and {flips.b} share no position of a prompt: compare outputs of the same prompts."
            )
    test = _test(against, between, level)
    return ComparedOutputs(
        forced=candidate.forced,
        candidate=_pair(against),
        controls=tuple(map(_pair, between)),
        divergences=tuple(_divergences(reference, candidate, against, names)),
        test=test,
        level=level,
        regression=None if test is None else test.p < level,
        warnings=tuple(_warnings(against, between, test, candidate.forced)),
    )


def _check(reference: Outputs, others: Sequence[Outputs]) -> None:
    kind = {True: "teacher-forced", False: "free"}
    for other in others:
        if other.forced != reference.forced:
            raise InputError(
                f"{reference.name} holds {kind[reference.forced]} outputs and {other.name} {kind[other.forced]} ones: "
                "compare like with like."
            )


def _test(against: Flips, between: Sequence[Flips], level: float) -> Excess | None:
    """The candidate's flips against those of all controls; None without controls, or with one prompt."""
    if not between:
        return None
    control_flips = np.sum([flips.flips for flips in between], axis=0)
    control_positions = np.sum([flips.positions for flips in between], axis=0)
    if int(((against.positions > 0) | (control_positions > 0)).sum()) < 2:
        return None
    return above(against.flips, against.positions, control_flips, control_positions, level)


def _pair(flips: Flips) -> Pair:
    firsts = list(flips.first.values())
    return Pair(
        a=flips.a,
        b=flips.b,
        prompts=int((flips.positions > 0).sum()),
        positions=int(flips.positions.sum()),
        flips=int(flips.flips.sum()),
        rate=flips.rate,
        differing_prompts=len(firsts),
        first_divergence_p50=float(np.median(firsts)) if firsts else None,
    )


def _divergences(a: Outputs, b: Outputs, flips: Flips, names: Names) -> list[Divergence]:
    prompts, texts = list(names.prompts), list(names.texts)

    def token(outputs: Outputs, key: int) -> int | str:
        code = int(outputs.token[np.searchsorted(outputs.key, key)])
        return texts[code] if names.in_texts else code

    found = [(prompt, place, prompt << PLACES | place) for prompt, place in flips.first.items()]
    return [Divergence(prompts[prompt], place, token(a, key), token(b, key)) for prompt, place, key in found]


def _warnings(ab: Flips, between: Sequence[Flips], test: Excess | None, forced: bool) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []

    def warn(code: str, count: int, text: str) -> None:
        made.append({"code": code, "count": count, "text": text})

    if not between:
        warn("no_controls", 0, "without --controls there is no floor: the controls' own spread is not known.")
    elif test is None:
        warn("one_prompt", 1, "one prompt cannot tell: its tokens resemble each other.")
    elif test.clusters < FEW_PROMPTS:
        warn(
            "few_prompts",
            test.clusters,
            f"{test.clusters} prompts are few: the interval is wide and only roughly right.",
        )
    if forced and ab.uncompared:
        text = f"{ab.uncompared} positions are in one of {ab.a} and {ab.b} only and were not compared."
        warn("uncompared", ab.uncompared, text)
    if not forced:
        text = "free outputs: only the first divergence of a prompt counts, what follows it has another prefix."
        warn("free_outputs", 0, text)
    return made
