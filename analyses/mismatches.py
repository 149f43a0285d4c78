"""Where the work inside a role is of a kind one would not expect there.

A role comes from what the program says, a kind from the kernel's name; copies inside
`sidecar_gemm` are copying, whatever the range is called.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import Ints
from stepprof.analyses.short_names import short_name
from stepprof.analyses.vocabulary import KINDS, ROLES


@dataclass(frozen=True)
class Mismatch:
    """One role with one unexpected kind, over the chosen steps."""

    role: str
    kind: str
    work_ns: int
    share: float  # of the role's work
    kernel: str  # short name of the kernel with most of it


def mismatches(found: Attribution, ops: Ints, duration: Ints) -> list[Mismatch]:
    """Unexpected kinds among `ops` (indices, with their clipped durations), most work first."""
    roles = found.roles
    role_work = np.zeros(len(ROLES), dtype=np.int64)
    np.add.at(role_work, roles.role[ops], duration)
    odd = roles.mismatch[ops]
    pairs = np.unique(np.stack([roles.role[ops][odd], roles.kind[ops][odd]], axis=1), axis=0)
    result: list[Mismatch] = []
    for role, kind in pairs.tolist():
        mine = odd & (roles.role[ops] == role) & (roles.kind[ops] == kind)
        by_name = np.bincount(found.ops.name[ops[mine]], weights=duration[mine])
        work = int(duration[mine].sum())
        top = short_name(found.ops.names[int(by_name.argmax())])
        result.append(Mismatch(ROLES[role], KINDS[kind], work, work / max(int(role_work[role]), 1), top))
    return sorted(result, key=lambda m: -m.work_ns)
