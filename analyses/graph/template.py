"""Steps that repeat the same ops, laid side by side.

A step's ops are put in order of launch call and, inside a graph, of node (where nodes are not on
record, of stream, name and start); two steps have one template where these sequences agree in
name, card, stream and node. The largest group is taken.

    same = align(found)
    found.ops.start[same.ops]        # [positions, steps]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.graph.step_graph import Times
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.sequence import random_numbers
from stepprof.profiler.errors import Refused


@dataclass(frozen=True)
class Template:
    """Ops of like steps."""

    steps: list[int]
    ops: Times  # [positions, steps] op indices, by launch call, then node
    launch: Ints  # [positions] number of the launch in the step, in order of call
    left_out: int  # chosen steps that are not like these


def align(found: Attribution, chosen: Sequence[int] | None = None) -> Template:
    """The largest group of chosen steps (default: all whole ones) that repeat the same ops; Refused below two."""
    steps = list(found.steps.usable if chosen is None else chosen)
    at, step = _in_order(found, steps)
    count = np.bincount(step, minlength=len(steps))
    first = np.cumsum(count) - count
    launch = _numbers(found.ops.launch[at], step)
    group = _groups(found, at, launch, count, first)
    size = np.bincount(group, weights=count > 0, minlength=1)
    kept = np.flatnonzero((group == size.argmax()) & (count > 0))
    if len(kept) < 2:
        raise Refused(
            f"{found.source}: no two of the {len(steps)} chosen steps run the same ops, so a step cannot be replayed: "
            "record more steps with the same settings, or choose others with --steps A:B."
        )
    places = first[kept] + np.arange(int(count[kept[0]]))[:, None]
    return Template([steps[i] for i in kept.tolist()], at[places], launch[places[:, 0]], len(steps) - len(kept))


def _in_order(found: Attribution, steps: list[int]) -> tuple[Ints, Ints]:
    """The ops of these steps by step, thread, launch, node and start; and the place of their step in the list."""
    ops, rank = found.ops, np.full(len(found.steps) + 1, UNKNOWN, dtype=np.int64)
    rank[steps] = np.arange(len(steps))
    step = rank[found.steps.of_op]
    at = np.flatnonzero(step != UNKNOWN)
    thread, process = ops.launches.thread[ops.launch[at]], ops.process[at]
    nameless = ops.node[at] == UNKNOWN
    stream, name = np.where(nameless, ops.stream[at], 0), np.where(nameless, ops.name[at], 0)
    order = np.lexsort((at, name, stream, ops.node[at], ops.launch[at], thread, process, step[at]))
    return at[order], step[at][order]


def _numbers(launch: Ints, step: Ints) -> Ints:
    """Launches numbered from 0 in each step, in the order given."""
    new = (np.diff(launch, prepend=UNKNOWN) != 0) | (np.diff(step, prepend=UNKNOWN) != 0)
    number = np.cumsum(new) - 1
    base = number[np.flatnonzero(np.diff(step, prepend=UNKNOWN))] if len(step) else number
    return number - np.repeat(base, np.bincount(step)[np.unique(step)] if len(step) else 0)


def _groups(found: Attribution, at: Ints, launch: Ints, count: Ints, first: Ints) -> Ints:
    """A number for each step; equal for steps whose sequences agree."""
    ops = found.ops
    place = np.arange(len(at)) - np.repeat(first, count)
    node = np.unique(ops.node[at], return_inverse=True)[1]
    columns = (ops.name[at], ops.device[at], ops.stream[at], node, launch)
    mixed = random_numbers(place)
    for k, column in enumerate(columns):
        mixed = (mixed ^ random_numbers(column * len(columns) + k)) * np.uint64(0x9E3779B97F4A7C15)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    signature = np.stack([sums[first + count] - sums[first], count.astype(np.uint64)], axis=1)
    return np.unique(signature, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
