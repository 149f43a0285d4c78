"""Which ops a change made faster, slower, new or unneeded: the steps of two arms aligned op by op.

    deltas = op_deltas([profile.typical for profile in control], [… candidate])

Each launch stands for itself by its most common step. Ops are aligned by position and by device, name
(in a form that profilers agree on) and label; numbers that vary in a label (rows=2) are left out, and
labels altogether where the arms are marked differently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.alignment import align
from stepprof.analyses.comparable_names import tokens
from stepprof.analyses.compare.row_deltas import RowDelta, row_delta
from stepprof.analyses.compare.typical_step import Typical
from stepprof.analyses.ops import UNKNOWN, Ints

FEW = 0.5  # share of aligned ops below which labels are left out
VARIES = re.compile(r" \w+=\S+")


@dataclass(frozen=True)
class OneSided:
    """Ops of one name and label that only one arm has; ns a step."""

    name: str
    label: str
    ops: int
    exposed_ns: float
    work_ns: float


@dataclass(frozen=True)
class OpDeltas:
    """`aligned` ops in order of their change; shares tell how much of the launches this speaks of."""

    by: str  # what ops were met by: label (and name), or name where the arms are marked differently
    aligned: list[RowDelta]
    appeared: list[OneSided]
    vanished: list[OneSided]
    steps_share: float  # steps that are like the typical step of their launch
    unaligned_ops: int  # ops of further launches that the first launch of their arm does not have


def op_deltas(control: Sequence[Typical], candidate: Sequence[Typical]) -> OpDeltas:
    """Means of exposed time by op, candidate minus control."""
    by, sequences = "label", _tokens([*control, *candidate], with_labels=True)
    base, other = sequences[0], sequences[len(control)]
    place = align(base, other)  # of each candidate op among the control's
    if np.mean(place != UNKNOWN) < FEW:  # marks of another vocabulary
        by, sequences = "name", _tokens([*control, *candidate], with_labels=False)
        base, other = sequences[0], sequences[len(control)]
        place = align(base, other)
    new = np.flatnonzero(place == UNKNOWN)
    merged = place.copy()
    merged[new] = len(base) + np.arange(len(new))
    size = len(base) + len(new)
    befores = [_on(align(base, s), np.arange(len(base)), t, size) for s, t in zip(sequences, control, strict=False)]
    afters = [_on(align(other, s), merged, t, size) for s, t in zip(sequences[len(control) :], candidate, strict=True)]
    gone = np.setdiff1d(np.arange(len(base)), place)
    rows = [_row(control[0], i, befores, afters) for i in np.intersect1d(np.arange(len(base)), place).tolist()]
    every = [*control, *candidate]
    lost = sum(len(t.name) - int(np.isfinite(v).sum()) for t, v in zip(every, [*befores, *afters], strict=True))
    return OpDeltas(
        by,
        sorted(rows, key=lambda row: -abs(row.delta)),
        _grouped(candidate[0], new),
        _grouped(control[0], gone),
        sum(t.steps for t in every) / sum(t.of_steps for t in every),
        lost,
    )


def _tokens(steps: Sequence[Typical], with_labels: bool) -> list[Ints]:
    """Equal numbers where device, name and (if asked) label are the same, over all launches."""
    distinct = sorted({name for step in steps for name in step.name})
    number = dict(zip(distinct, tokens(distinct), strict=True))
    seen: dict[tuple[int, int, str], int] = {}
    found: list[Ints] = []
    for step in steps:
        rank = {device: i for i, device in enumerate(sorted(set(step.device)))}
        keys = [
            (rank[device], number[name], VARIES.sub("", label) if with_labels else "")
            for device, name, label in zip(step.device, step.name, step.label, strict=True)
        ]
        found.append(np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64))
    return found


def _on(place: Ints, merged: Ints, step: Typical, size: int) -> np.ndarray:
    """Exposed time of a launch's ops at the places of the merged step; NaN where it has none."""
    result = np.full(size, np.nan)
    met = place != UNKNOWN
    result[merged[place[met]]] = step.exposed_ns[met]
    return result


def _row(step: Typical, i: int, befores: list[np.ndarray], afters: list[np.ndarray]) -> RowDelta:
    before = [float(v[i]) for v in befores if np.isfinite(v[i])]
    after = [float(v[i]) for v in afters if np.isfinite(v[i])]
    key = f"{step.label[i]} › {step.name[i]}" if step.label[i] else step.name[i]
    return row_delta(f"{i} {key}", before, after)


def _grouped(step: Typical, at: Ints) -> list[OneSided]:
    """Ops by name and label, most exposed time first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i in at.tolist():
        groups.setdefault((step.name[i], step.label[i]), []).append(i)
    found = [
        OneSided(name, label, len(i), float(step.exposed_ns[i].sum()), float(step.work_ns[i].sum()))
        for (name, label), i in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.exposed_ns, -one.work_ns, one.name))
