"""What each op is for (role) and does (kind), and how surely that is known.

Sources of a role, the first that speaks decides: a user's rule; the innermost
range with a role; a name with one role; the GEMM that a split-K reduce or a
memset serves; a name's usual role. A kernel that waits has role `wait` always.
Names and label paths are looked up once each; the rest is numpy over all ops.

    made = op_roles(names, name, activity, stream_key, order, label, paths, load_rules())
    ROLES[made.role[0]]
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stepprof.analyses.names import NameRole, kind_of_name, role_of_name
from stepprof.analyses.ranges import path_info
from stepprof.analyses.rules import RuleSet
from stepprof.analyses.vocabulary import CONFIDENCES, KERNEL, KINDS, MEMCPY, PHASES, ROLES

Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]

USER, LABEL, HIGH, NEIGHBOUR = (CONFIDENCES.index(word) for word in ("user", "label", "high", "neighbour"))
WAIT_KIND, WAIT_ROLE = KINDS.index("wait"), ROLES.index("wait")
GEMM, UNKNOWN = KINDS.index("gemm"), ROLES.index("unknown")
INHERIT = ("", "previous gemm", "next gemm")


@dataclass(frozen=True)
class OpRoles:
    """One entry an op in each array; codes are positions in the vocabulary's tuples."""

    role: Ints  # int8, into ROLES
    kind: Ints  # int8, into KINDS
    confidence: Ints  # int8, into CONFIDENCES
    rule: Ints  # int32, into rule_ids
    layer: Ints  # int32, -1 unknown
    phase: Ints  # int8, into PHASES, -1 unknown
    mismatch: Bools  # the kind does not fit the role
    rule_ids: list[str]


@dataclass
class _RuleIds:
    """Rule ids by number, in the order in which they are met."""

    number: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, rule_id: str) -> int:
        return self.number.setdefault(rule_id, len(self.number))


def op_roles(
    names: Sequence[str],
    name: Ints,
    activity: Ints,
    stream_key: Ints,
    order: Ints,
    label: Ints,
    label_paths: Sequence[tuple[str, ...]],
    rules: RuleSet,
    use_labels: bool = True,
) -> OpRoles:
    """Decide role, kind, layer and phase of every op.

    `name` and `label` index into `names` and `label_paths` (-1: none), `order`
    lists the ops by start. Without labels only names and neighbours speak.
    """
    ids = _RuleIds()
    role, confidence, rule, kind, inherit = _by_name(names, name, activity, rules, ids)
    label = label if use_labels else np.full(len(name), -1)
    label_role, label_rule, layer, phase = _by_label(label_paths, label, rules, ids)

    labelled = (label_role >= 0) & (confidence != USER)
    role = np.where(labelled, label_role, role)
    rule = np.where(labelled, label_rule, rule)
    confidence = np.where(labelled, LABEL, confidence)

    _inherit(role, confidence, rule, kind, inherit, stream_key, order, ids)
    waits = (kind == WAIT_KIND) & (role != WAIT_ROLE)
    role[waits], confidence[waits], rule[waits] = WAIT_ROLE, HIGH, ids("kind.wait")
    return OpRoles(
        role=role.astype(np.int8),
        kind=kind.astype(np.int8),
        confidence=confidence.astype(np.int8),
        rule=rule.astype(np.int32),
        layer=layer.astype(np.int32),
        phase=phase.astype(np.int8),
        mismatch=~_fit_table(rules)[role, kind],
        rule_ids=list(ids.number),
    )


def _by_name(names: Sequence[str], name: Ints, activity: Ints, rules: RuleSet, ids: _RuleIds) -> list[Ints]:
    """Role, confidence, rule, kind and inheritance of each op, from its name and activity."""

    def row(key: int) -> tuple[int, ...]:
        text, act = _text(names, key // 3), key % 3
        found = _role(text, act, rules)
        return (
            ROLES.index(found.role),
            CONFIDENCES.index(found.confidence),
            ids(found.rule_id),
            KINDS.index(kind_of_name(text, act, rules)),
            INHERIT.index(found.inherit),
        )

    # a nameless op (-1) takes the place after the last name
    place = np.where(np.asarray(name) < 0, len(names), name)
    return _lookup(place * 3 + activity, 3 * len(names) + 3, 5, row)


def _by_label(paths: Sequence[tuple[str, ...]], label: Ints, rules: RuleSet, ids: _RuleIds) -> list[Ints]:
    """Role, rule, layer and phase of each op from the ranges around it; -1 where they say none."""

    def row(key: int) -> tuple[int, ...]:
        info = path_info(paths[key] if key < len(paths) else (), rules)
        return (
            ROLES.index(info.role) if info.role else -1,
            ids(info.rule) if info.role else -1,
            -1 if info.layer is None else info.layer,
            PHASES.index(info.phase) if info.phase else -1,
        )

    place = np.where(np.asarray(label) < 0, len(paths), label)
    return _lookup(place, len(paths) + 1, 4, row)


def _lookup(keys: Ints, size: int, width: int, row: Callable[[int], tuple[int, ...]]) -> list[Ints]:
    """Columns of `row(key)` for every key, calling `row` once for each key that occurs."""
    met = np.zeros(size, dtype=bool)
    met[keys] = True
    table = np.zeros((width, size), dtype=np.int32)
    for key in np.flatnonzero(met).tolist():
        table[:, key] = row(key)
    return [column[keys] for column in table]


def _text(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else ""


def _role(name: str, activity: int, rules: RuleSet) -> NameRole:
    """The role of a kernel by its name; of a copy or memset by a user's rule, else its own."""
    found = role_of_name(name, rules)
    if activity == KERNEL or found.confidence == "user":
        return found
    if activity == MEMCPY:
        return NameRole("copy", "DMA", "activity.memcpy", "high")
    return NameRole("memset", "fill", "activity.memset", "high", inherit="next gemm")


def _inherit(
    role: Ints,
    confidence: Ints,
    rule: Ints,
    kind: Ints,
    inherit: Ints,
    stream_key: Ints,
    order: Ints,
    ids: _RuleIds,
) -> None:
    """Give ops that serve a GEMM beside them on their stream its role, in place.

    The role is no surer than that of the GEMM it was taken from.
    """
    asks = (inherit > 0) & (confidence > LABEL) & (kind != GEMM)
    if not asks.any():
        return
    by_stream = order[np.argsort(stream_key[order], kind="stable")]
    same = stream_key[by_stream[1:]] == stream_key[by_stream[:-1]]
    earlier, later = by_stream[:-1][same], by_stream[1:][same]
    for code, (ops, beside) in enumerate(((later, earlier), (earlier, later)), 1):
        takes = asks[ops] & (inherit[ops] == code) & (kind[beside] == GEMM) & (role[beside] != UNKNOWN)
        to, source = ops[takes], beside[takes]
        role[to] = role[source]
        confidence[to] = np.maximum(confidence[source], NEIGHBOUR)
        rule[to] = ids(f"neighbour.{INHERIT[code].replace(' ', '-')}")


def _fit_table(rules: RuleSet) -> Bools:
    """Whether kind (column) fits role (row)."""
    return np.array([[rules.fits(role, kind) for kind in KINDS] for role in ROLES])
