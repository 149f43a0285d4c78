"""Ops that are the same in every step (name, label, role, kind, phase, layer, card), with what they cost a step.

groups = op_groups(found, chosen)
groups.exposed_ns / groups.steps      # mean exposed time a step, one entry a group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import Ints

MOST = 1 << 62  # codes that an int64 holds


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
    group = _numbered(_packed(columns, at))
    example = _first_of(group)
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
    total, size = np.zeros(len(at), dtype=np.int64), 1
    for column in columns:
        code = column[at].astype(np.int64) + 1
        radix = int(code.max(initial=0)) + 1
        if size * radix > MOST:
            total = _numbered(total)
            size = int(total.max(initial=0)) + 1
        total, size = total * radix + code, size * radix
    return total


def _numbered(code: Ints) -> Ints:
    """Equal codes as equal numbers from 0, by hashing: sorting millions of ops takes ten times as long."""
    return pd.factorize(code)[0].astype(np.int64)


def _first_of(group: Ints) -> Ints:
    """Place of the first entry of each group."""
    first = np.empty(int(group.max(initial=-1)) + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
    return first


def _total(code: Ints, value: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, code, value)
    return total
