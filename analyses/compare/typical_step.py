"""What a launch's steps are made of: time by role, kind, layer and gap class, and its most common step op by op.

    profile = profile_of(attribute(store), steps)
    profile.rows["role"]["attention"]       # exposed ns, mean per step

Small beside the run it comes from, so that a comparison keeps one for each launch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.breakdown import breakdown
from stepprof.analyses.breakdown_result import By
from stepprof.analyses.ops import UNKNOWN, Ints

BYS: tuple[By, ...] = ("role", "kind", "layer")


@dataclass(frozen=True)
class Typical:
    """The most common sequence of ops, by device and start; one entry an op, ns are means over its steps."""

    device: list[int]
    name: list[str]
    label: list[str]
    exposed_ns: np.ndarray
    work_ns: np.ndarray
    steps: int
    of_steps: int


@dataclass(frozen=True)
class Profile:
    """Means per step: the wall, exposed time by key for each way of grouping, `gap` by class."""

    wall_ns: float
    rows: dict[str, dict[str, float]]
    typical: Typical


def profile_of(found: Attribution, chosen: Sequence[int]) -> Profile:
    """Break the chosen steps down and keep the typical one; Refused where none is chosen."""
    made = {by: breakdown(found, by, chosen) for by in BYS}
    rows = {by: {row.key: row.exposed_ns for row in made[by].rows} for by in BYS}
    rows["gap"] = {gap.class_: gap.exposed_ns for gap in made["role"].gaps}
    return Profile(made["role"].totals["wall_ns"] / len(chosen), rows, _typical(found, chosen))


def _typical(found: Attribution, chosen: Sequence[int]) -> Typical:
    """Steps whose ops have the same devices, names and labels in the same order."""
    ops, labels = found.ops, found.labels
    token = (ops.device * len(ops.names) + ops.name) * (len(labels.paths) + 1) + labels.of_op + 1
    steps = _ops_by_step(found, chosen)
    keys = [token[step].tobytes() for step in steps]
    key, count = Counter(keys).most_common(1)[0]
    alike = np.stack([step for step, own in zip(steps, keys, strict=True) if own == key])  # [steps, ops]
    first = alike[0]
    return Typical(
        ops.device[first].tolist(),
        [ops.names[i] for i in ops.name[first].tolist()],
        [" › ".join(labels.paths[i]) if i != UNKNOWN else "" for i in labels.of_op[first].tolist()],
        found.exposed()[alike].mean(axis=0),
        ops.duration[alike].mean(axis=0),
        count,
        len(steps),
    )


def _ops_by_step(found: Attribution, chosen: Sequence[int]) -> list[Ints]:
    """Op indices of each chosen step in order of device and start."""
    ops, of_op = found.ops, found.steps.of_op
    order = np.lexsort((ops.start, ops.device, of_op))
    step = of_op[order]
    low, high = (np.searchsorted(step, chosen, side=side) for side in ("left", "right"))
    return [order[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]
