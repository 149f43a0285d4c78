"""Op names with their time, role, kind and the rule that decided: `stepprof roles`.

One row a (name, role, kind, rule); unknown roles first, then kinds that do not fit
their role, then low confidence, each by work, so that a user's next rule is on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.short_names import short_name
from stepprof.analyses.vocabulary import CONFIDENCES, KINDS, ROLES


@dataclass(frozen=True)
class NamedRole:
    """Ops of one name that were decided alike, over all ops of the run's steps."""

    name: str
    short_name: str
    ops: int
    work_ns: int
    exposed_ns: int
    role: str
    kind: str
    rule: str
    confidence: str
    fits: bool


def role_table(found: Attribution) -> list[NamedRole]:
    """All names of the steps' ops, doubtful ones first."""
    roles, ops = found.roles, found.ops
    at = np.flatnonzero(found.steps.of_op >= 0)
    columns = [ops.name, roles.role, roles.kind, roles.rule, roles.confidence, roles.mismatch]
    keys, group = np.unique(np.stack([c[at].astype(np.int64) for c in columns], axis=1), axis=0, return_inverse=True)
    work = np.bincount(group, weights=ops.duration[at], minlength=len(keys))
    exposed = np.bincount(group, weights=found.exposed()[at], minlength=len(keys))
    count = np.bincount(group, minlength=len(keys))
    rows = [
        NamedRole(
            name=ops.names[name],
            short_name=short_name(ops.names[name]),
            ops=int(count[i]),
            work_ns=int(work[i]),
            exposed_ns=int(exposed[i]),
            role=ROLES[role],
            kind=KINDS[kind],
            rule=roles.rule_ids[rule],
            confidence=CONFIDENCES[confidence],
            fits=not mismatch,
        )
        for i, (name, role, kind, rule, confidence, mismatch) in enumerate(keys.tolist())
    ]
    return sorted(rows, key=_doubt)


def _doubt(row: NamedRole) -> tuple[bool, bool, bool, int]:
    return row.role != "unknown", row.fits, row.confidence != "low", -row.work_ns
