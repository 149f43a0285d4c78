"""Labels of an annotated trace carried onto another trace of the same program: `--labels-from`.

    carried = carry_labels(store, other)     # fills table carried_label
    carried.share                            # of the ops of both sides' steps, those that are aligned

Source is the other trace's most typical labelled step, target each distinct step (or graph
launch, where no steps are found) of this one: ops by device and start, as tokens of device
and comparable name (alignment.py). What differs from step to step in the source, such as
the rows of a sidecar call, is that one step's. Devices correspond by rank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stepprof.analyses.alignment import align
from stepprof.analyses.comparable_names import tokens
from stepprof.analyses.labels import Labels, op_labels
from stepprof.analyses.markers import load_ranges, marker_names
from stepprof.analyses.ops import UNKNOWN, Ints, Ops, load_ops
from stepprof.analyses.refusals import refuse_unanswerable
from stepprof.analyses.rules import load_rules
from stepprof.analyses.short_names import short_name
from stepprof.analyses.steps import find_steps
from stepprof.profiler.errors import Refused
from stepprof.profiler.store import Store

LEAST_SHARE = 0.8
REPLACED = """
DELETE FROM carried_label;
DELETE FROM run WHERE key IN ('labels_from', 'labels_aligned_share');
DELETE FROM warning WHERE code = 'labels_carried';
"""


@dataclass(frozen=True)
class Carried:
    """What was carried: the aligned share, and the number of ops that got a label."""

    share: float
    ops: int
    source: str


@dataclass(frozen=True)
class _Trace:
    """One side: its ops, and those of each step in order of device and start."""

    name: str
    ops: Ops
    device: Ints  # rank of each op's device among those of the trace
    steps: list[Ints]
    marked: bool  # steps were found; else they are graph launches


@dataclass(frozen=True)
class _Match:
    """Our steps beside the source step of the other trace; a step is known by its tokens' bytes."""

    theirs: _Trace
    source: Ints  # ops of the other trace
    ours: _Trace
    keys: list[bytes]  # of each of our steps
    places: dict[bytes, Ints]  # for each distinct step, places in the source

    @property
    def share(self) -> float:
        """Aligned ops over the ops of the longer side, over all steps."""
        aligned = sum(int((self.places[key] != UNKNOWN).sum()) for key in self.keys)
        return aligned / max(sum(max(len(step), len(self.source)) for step in self.ours.steps), 1)


def carry_labels(store: Store, other: Store) -> Carried:
    """Fill table carried_label from the other trace, in place of labels carried before; Refused where less than 80 % aligns."""
    theirs, ours = _read(other), _read(store)
    labels = _labels(other, theirs)
    match = _aligned(theirs, labels, ours)
    if match.share < LEAST_SHARE:
        raise Refused(_difference(match))
    store.con.execute(REPLACED)
    carried = Carried(match.share, _write(store, match, labels), theirs.name)
    facts = {"labels_from": carried.source, "labels_aligned_share": f"{carried.share:.4f}"}
    store.con.executemany("INSERT INTO run VALUES (?, ?)", list(facts.items()))
    aligned = f"with which {carried.share:.1%} of the ops of a step align"
    store.warn("labels_carried", carried.ops, f"Labels of {carried.ops} ops come from {carried.source}, {aligned}.")
    return carried


def _read(store: Store) -> _Trace:
    """Ops and whole steps; graph launches where there are no steps."""
    refuse_unanswerable(store)
    ops, rules = load_ops(store), load_rules(None)
    steps, _ = find_steps(store, ops, load_ranges(store, rules), rules)
    if steps is None:
        group, wanted = ops.launch, np.unique(ops.launch[ops.in_graph])
    else:
        group, wanted = steps.of_op, np.array(steps.usable or range(len(steps)), dtype=np.int64)
    device = np.unique(ops.device, return_inverse=True)[1].astype(np.int64)
    order = np.lexsort((ops.start, device, group))
    order = order[np.isin(group[order], wanted)]
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    return _Trace(store.fact("source") or store.path.name, ops, device, parts, steps is not None)


def _labels(store: Store, trace: _Trace) -> Labels:
    rules = load_rules(None)
    ranges = load_ranges(store, rules)
    return op_labels(store, trace.ops, ranges, marker_names(ranges, rules, None))


def _aligned(theirs: _Trace, labels: Labels, ours: _Trace) -> _Match:
    """Each distinct step of ours aligned once with the most typical labelled step of theirs."""
    if not ours.steps:
        raise Refused(f"{ours.name}: neither steps nor graph launches are found that labels could be carried onto.")
    their_token, our_token = _tokens(theirs, ours)
    source = _typical(theirs, their_token, labels)
    keys = [our_token[step].tobytes() for step in ours.steps]
    distinct = dict(zip(keys, ours.steps, strict=True))
    places = {key: align(their_token[source], our_token[step]) for key, step in distinct.items()}
    return _Match(theirs, source, ours, keys, places)


def _tokens(theirs: _Trace, ours: _Trace) -> tuple[Ints, Ints]:
    """A token of device and name for each op of both traces."""
    number = np.array(tokens([*theirs.ops.names, *ours.ops.names]), dtype=np.int64)
    their_name, our_name = np.split(number, [len(theirs.ops.names)])
    return (
        theirs.device * len(number) + their_name[theirs.ops.name],
        ours.device * len(number) + our_name[ours.ops.name],
    )


def _typical(trace: _Trace, token: Ints, labels: Labels) -> Ints:
    """The ops of the labelled step whose sequence is the most common one."""
    if not trace.marked:
        raise Refused(f"{trace.name}: no steps are found, so no labels can be taken from it: give an annotated trace.")
    known = [float((labels.of_op[step] != UNKNOWN).mean()) for step in trace.steps]
    if not any(known):
        raise Refused(f"{trace.name}: no op of its steps carries a label: give a trace recorded with NVTX ranges.")
    count = Counter(token[step].tobytes() for step in trace.steps)
    return max(zip(trace.steps, known, strict=True), key=lambda s: (s[1] > 0, count[token[s[0]].tobytes()], s[1]))[0]


def _difference(match: _Match) -> str:
    """The refusal: the share, and where the commonest step leaves the source step."""
    key, _ = Counter(match.keys).most_common(1)[0]
    step, places = match.ours.steps[match.keys.index(key)], match.places[key]
    at = int(np.argmax(np.append(places, UNKNOWN) != np.arange(len(places) + 1)))
    here, there = _name_at(match.ours, step, at), _name_at(match.theirs, match.source, at)
    return (
        f"{match.ours.name}: {match.share:.1%} of the ops of its steps align with {match.theirs.name}, "
        f"{LEAST_SHARE:.0%} are needed; op {at} of a step is {here} here and {there} there: "
        "give an annotated trace of the same program."
    )


def _name_at(trace: _Trace, step: Ints, at: int) -> str:
    if at >= len(step):
        return "none"
    op = int(step[at])
    return f"{short_name(trace.ops.names[trace.ops.name[op]])} on card {trace.ops.device[op]}"


def _write(store: Store, match: _Match, labels: Labels) -> int:
    """Store the paths of the aligned ops that are labelled there; how many they are."""
    at = np.concatenate([match.places[key] for key in match.keys])
    path = np.where(at == UNKNOWN, UNKNOWN, labels.of_op[match.source][at])
    op_id = match.ours.ops.op_id[np.concatenate(match.ours.steps)]
    carried = pa.table({"op_id": op_id[path != UNKNOWN], "path": path[path != UNKNOWN]})
    store.con.register("carried", carried)
    store.con.register("paths", pa.table({"path": np.arange(len(labels.paths)), "names": [*map(list, labels.paths)]}))
    store.con.execute("INSERT INTO carried_label SELECT op_id, names FROM carried JOIN paths USING (path)")
    for name in ("carried", "paths"):
        store.con.unregister(name)
    return carried.num_rows
