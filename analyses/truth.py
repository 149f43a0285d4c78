"""A trace of the built-in model held against its truth file: labels, roles and kinds, op by op.

The n-th node that ran (nodes sorted by id) is the truth's n-th kernel, copy or memset, since both
count in the order of capture; Refused where their numbers differ. An op of the truth may make
several nodes (a GEMM and its split-K reduce); its kind is that of its longest node.

    compare(match(attribute(store), truth), truth)["role_and_kind_share"]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.intervals import covered, merge
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.vocabulary import KINDS, ROLES
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

RAN = ("kernel", "memcpy", "memset")


@dataclass(frozen=True)
class Matched:
    """One step of the trace with the truth's nodes: `ops` run in the order of `numbers`."""

    found: Attribution
    step: int
    ops: Ints
    numbers: list[int]


def match(found: Attribution, truth: dict[str, Any]) -> Matched:
    """The median step's graph ops, sorted by node, beside the truth's numbers of nodes that run."""
    usable = found.steps.usable
    step = usable[int(np.argsort(found.steps.wall[usable])[len(usable) // 2])]
    ops = np.flatnonzero((found.steps.of_op == step) & (found.ops.node != UNKNOWN))
    ops = ops[np.argsort(found.ops.node[ops])]
    numbers = [int(n) for n, kind in sorted(truth["node_types"].items(), key=lambda item: int(item[0])) if kind in RAN]
    if len(ops) != len(numbers):
        raise Refused(
            f"{found.source}: a step ran {len(ops)} graph ops and the truth names {len(numbers)}: "
            "give the truth of the same program."
        )
    return Matched(found, step, ops, numbers)


def compare(matched: Matched, truth: dict[str, Any]) -> dict[str, Any]:
    """Shares of the truth's ops, and of their time, whose label, role and kind are right."""
    found, at = matched.found, dict(zip(matched.numbers, matched.ops.tolist(), strict=True))
    rows: list[tuple[bool, bool, int]] = []
    for op in truth["ops"]:
        ran = [at[n] for n in op["nodes"] if n in at]
        if not ran:
            continue
        longest = max(ran, key=lambda i: int(found.ops.duration[i]))
        role = all(ROLES[found.roles.role[i]] == op["role"] for i in ran)
        rows.append((role, KINDS[found.roles.kind[longest]] == op["kind"], int(found.ops.duration[ran].sum())))
    role, kind, time = (np.array(column) for column in zip(*rows, strict=True))
    both = role & kind
    return {
        "nodes": len(matched.ops),
        "truth_ops": len(rows),
        "labelled_share": float((found.labels.of_op[matched.ops] != UNKNOWN).mean()),
        "role_share": float(role.mean()),
        "role_and_kind_share": float(both.mean()),
        "role_and_kind_time_share": float(time[both].sum() / time.sum()),
        "both_cards_busy_ns": _overlap(matched),
        "step_wall_ns": int(found.steps.wall[matched.step]),
    }


def _overlap(matched: Matched) -> int:
    """How long cards 0 and 1 were busy at once in the step, ns."""
    ops, mine = matched.found.ops, matched.found.steps.of_op == matched.step
    first, second = (merge(ops.start[mine & (ops.device == d)], ops.end[mine & (ops.device == d)]) for d in (0, 1))
    return int(covered(first[0], first[1], *second).sum())


def compare_edges(store: Store, matched: Matched, truth: dict[str, Any]) -> dict[str, int]:
    """How many edges between nodes that ran the truth has, the run recorded, and both agree on."""
    node = dict(zip(matched.numbers, matched.found.ops.node[matched.ops].tolist(), strict=True))
    true = {(node[a], node[b]) for a, b in truth["edges"] if a in node and b in node}
    recorded = set(store.rows("SELECT DISTINCT from_node, to_node FROM graph_edge"))
    return {"truth": len(true), "recorded": len(recorded), "equal": len(true & recorded)}


def edge_lines(matched: Matched, truth: dict[str, Any]) -> list[str]:
    """The truth's edges between nodes of the trace; nodes that do not run keep a number of their own."""
    node = dict(zip(matched.numbers, matched.found.ops.node[matched.ops].tolist(), strict=True))
    return [f"E\t0\t{node.get(a, -1 - a)}\t{node.get(b, -1 - b)}\tfull" for a, b in truth["edges"]]
