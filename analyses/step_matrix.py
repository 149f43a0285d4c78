"""What each step's wall is made of: exposed time by role, gaps by class; each column adds up to its step's wall.

m = step_matrix(found, chosen)
m.exposed[ROLES.index("attention")]      # ns in each chosen step
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.gaps import CLASSES
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.vocabulary import ROLES

Matrix = NDArray[np.int64]


@dataclass(frozen=True)
class StepMatrix:
    """Times in ns; columns are the chosen steps, in the order in which they were chosen."""

    steps: Ints
    exposed: Matrix  # [role, step]
    gaps: Matrix  # [gap class, step]


def step_matrix(found: Attribution, chosen: Sequence[int]) -> StepMatrix:
    """The partition of every chosen step; asserts that it adds up to the wall."""
    steps = np.array(chosen, dtype=np.int64)
    column = np.full(len(found.steps) + 1, UNKNOWN, dtype=np.int64)
    column[steps] = np.arange(len(steps))
    path, gaps = found.path, found.gaps
    work = found.work & (column[path.segment_step] != UNKNOWN)
    exposed = np.zeros((len(ROLES), len(steps)), dtype=np.int64)
    role = found.roles.role[path.segment_op[work]].astype(np.int64)
    np.add.at(exposed, (role, column[path.segment_step[work]]), (path.segment_end - path.segment_start)[work])
    mine = column[gaps.step] != UNKNOWN
    waited = np.zeros((len(CLASSES), len(steps)), dtype=np.int64)
    np.add.at(waited, (gaps.code[mine], column[gaps.step[mine]]), (gaps.end - gaps.start)[mine])
    wall = found.steps.wall[steps]
    assert ((exposed.sum(axis=0) + waited.sum(axis=0)) == wall).all(), "a step's parts do not add up to its wall"
    return StepMatrix(steps, exposed, waited)
