"""Perfetto tracks of the cards: a track a branch, and the arrows between ops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.dependencies import SOURCES
from stepprof.analyses.edges import replay_edges
from stepprof.analyses.lanes import lanes
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.analyses.vocabulary import KINDS, ROLES
from stepprof.profiler.report.perfetto_track import CARDS, Event, Track, Tracks
from stepprof.profiler.store import Store


def op_events(tracks: Tracks, store: Store, found: Attribution, at: Ints) -> Iterator[Event]:
    """Every op of the chosen steps, on the branch it belongs to."""
    cards = {int(d): str(name) for d, name in store.rows("SELECT device, coalesce(name, 'GPU') FROM device")}
    ops, roles, exposed = found.ops, found.roles, found.exposed()
    paths = [*(" › ".join(path) for path in found.labels.paths), ""]
    for i, (op, lane) in enumerate(zip(at.tolist(), _lane(found, at).tolist(), strict=True)):
        device = int(ops.device[op])
        row = tracks.track(CARDS + device, f"card {device}: {cards.get(device, 'GPU')}", lane, f"branch {lane}")
        role, kind = ROLES[roles.role[op]], KINDS[roles.kind[op]]
        about = {"op_id": int(ops.op_id[op]), "role": role, "kind": kind, "label": paths[found.labels.of_op[op]]}
        about |= {"exposed_ns": int(exposed[op]), "layer": int(roles.layer[op])}
        start, end = int(ops.start[op]), int(ops.end[op])
        assert i == 0 or start >= int(ops.start[at[i - 1]]), "ops come in order of start"
        yield tracks.slice(row, ops.names[ops.name[op]], f"{role},{kind}", start, end, **about)


def flow_events(
    tracks: Tracks, store: Store, found: Attribution, at: Ints, hosts: dict[tuple[int, int], Track]
) -> Iterator[Event]:
    """Arrows from launch calls to their first ops, and along the dependencies between ops."""
    ops = found.ops
    rows = {
        op: (CARDS + int(ops.device[op]), lane) for op, lane in zip(at.tolist(), _lane(found, at).tolist(), strict=True)
    }
    number = 0
    for op in at[np.unique(ops.launch[at], return_index=True)[1]].tolist():
        launch = int(ops.launch[op])
        call, host = int(ops.launches.call_start[launch]), _host(found, launch, hosts)
        if call >= tracks.base and host is not None:
            number += 1
            yield from tracks.flow(number, "launch", (host, call), (rows[op], int(ops.start[op])))
    for source, target, category in _links(store, found, at):
        number += 1
        leaves = max(int(ops.end[source]) - 1, int(ops.start[source]))  # inside the slice it leaves
        yield from tracks.flow(number, category, (rows[source], leaves), (rows[target], int(ops.start[target])))


def _lane(found: Attribution, at: Ints) -> Ints:
    return lanes(found.ops, found.deps.predecessor, at)


def _host(found: Attribution, launch: int, hosts: dict[tuple[int, int], Track]) -> Track | None:
    launches = found.ops.launches
    return hosts.get((int(launches.process[launch]), int(launches.thread[launch])))


def _links(store: Store, found: Attribution, at: Ints) -> Iterator[tuple[int, int, str]]:
    """Recorded graph edges; for ops without any, what they waited for and how that is known."""
    shown = np.zeros(len(found.ops), bool)
    shown[at] = True
    edges = replay_edges(store, found.ops)
    for source, target, programmatic in zip(edges.source, edges.target, edges.programmatic, strict=True):
        if shown[source] and shown[target]:
            yield int(source), int(target), "programmatic edge" if programmatic else "edge"
    drawn = np.zeros(len(found.ops), bool)
    drawn[edges.target] = True
    before = found.deps.predecessor[at]
    for target, source in zip(at[before != UNKNOWN].tolist(), before[before != UNKNOWN].tolist(), strict=True):
        if shown[source] and not drawn[target]:
            yield source, target, SOURCES[found.deps.source[target]]
