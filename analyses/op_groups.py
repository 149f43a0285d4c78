"""Ops that are the same in every step (name, label, role, kind, phase, layer, card), with what they cost a step.

groups = op_groups(found, chosen)
groups.exposed_ns / groups.steps      # mean exposed time a step, one entry a group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import Ints


@dataclass(frozen=True)
class OpGroups:
    """One entry a group, most exposed first; times are totals over the chosen steps, clipped to their windows, ns."""

    steps: int
    at: Ints  # op indices of the chosen steps, in order of start
    of_op: Ints  # group of each of them
    example: Ints  # an op index of each group
    count: Ints
    exposed_ns: Ints
    work_ns: Ints  # spin-waits have none


def op_groups(found: Attribution, chosen: Sequence[int]) -> OpGroups:
    """Groups over the chosen steps."""
    steps, ops, roles = found.steps, found.ops, found.roles
    at = np.flatnonzero(np.isin(steps.of_op, np.array(chosen, dtype=np.int64)))
    columns = (ops.name, found.labels.of_op, roles.role, roles.kind, roles.phase, roles.layer, ops.device)
    _, example, group = np.unique(_packed(columns, at), return_index=True, return_inverse=True)
    low, high = steps.windows.start[steps.of_op[at]], steps.windows.end[steps.of_op[at]]
    work = np.clip(ops.end[at], low, high) - np.clip(ops.start[at], low, high)
    exposed = _total(group, found.exposed()[at], len(example))
    order = np.lexsort((at[example], -exposed))
    rank = np.argsort(order)
    return OpGroups(
        steps=len(chosen),
        at=at,
        of_op=rank[group],
        example=at[example[order]],
        count=np.bincount(group, minlength=len(example)).astype(np.int64)[order],
        exposed_ns=exposed[order],
        work_ns=_total(group, np.where(found.waits[at], 0, work), len(example))[order],
    )


def _packed(columns: tuple[np.ndarray, ...], at: Ints) -> Ints:
    """Several codes (UNKNOWN allowed) as one."""
    total = np.zeros(len(at), dtype=np.int64)
    for column in columns:
        code = column[at].astype(np.int64) + 1
        total = np.unique(total * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1].astype(np.int64)
    return total


def _total(code: Ints, value: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, code, value)
    return total
