"""The steps of a run as a trace that Perfetto opens (Chrome's JSON form): cards, branches, path, gaps, host.

    write_perfetto(path, store, found, chosen)

Tracks: steps, phases and layers; the critical path and its gaps; each card with a track a branch, so that ops
which overlap lie side by side and none is lost; host threads with their API calls and ranges; counters.
Flows: launch call to its first op, and the graph's recorded edges (else what each op waited for).
Times are µs from the start of the first step shown, exact to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from stepprof.analyses.attribution import Attribution
from stepprof.analyses.ops import UNKNOWN, Ints
from stepprof.profiler.report.document import inflation_fields
from stepprof.profiler.report.perfetto_host import counter_events, host_events, host_tracks
from stepprof.profiler.report.perfetto_ops import flow_events, op_events
from stepprof.profiler.report.perfetto_steps import gap_events, path_events, step_events
from stepprof.profiler.report.perfetto_track import Tracks
from stepprof.profiler.report.whole_file import whole_file
from stepprof.profiler.store import Store

Event = dict[str, Any]


def write_perfetto(path: Path, store: Store, found: Attribution, chosen: Sequence[int]) -> int:
    """Write the trace whole or not at all, gzipped where the name ends in .gz; how many events it has."""
    count = 0
    with whole_file(path) as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
        for event in events(store, found, chosen):
            file.write((b",\n" if count else b"") + msgspec.json.encode(event))
            count += 1
        file.write(b'\n],"otherData":' + msgspec.json.encode(_about(found, chosen)) + b"}\n")
    return count


def events(store: Store, found: Attribution, chosen: Sequence[int]) -> Iterator[Event]:
    """All events of the chosen steps, tracks named first."""
    windows, which = found.steps.windows, np.array(chosen, dtype=np.int64)
    base, until = int(windows.start[which].min()), int(windows.end[which].max())
    at = np.flatnonzero(np.isin(found.steps.of_op, which))
    tracks = Tracks(base)
    hosts = host_tracks(store, base, until)
    body = [
        step_events(tracks, found, which, at),
        path_events(tracks, found, which),
        gap_events(tracks, found, which),
        op_events(tracks, store, found, at),
        host_events(tracks, store, hosts, base, until),
        counter_events(tracks, store, base, until),
        flow_events(tracks, store, found, at, hosts),
    ]
    for part in body:
        yield from part
    yield from tracks.names()


def _about(found: Attribution, chosen: Sequence[int]) -> dict[str, Any]:
    """What the file shows, and what is doubtful about it."""
    return {
        "tool": "stepprof",
        "steps": f"{len(chosen)} of {len(found.steps)} by {found.steps.method}",
        **inflation_fields(found.inflation),
        "warnings": [warning["text"] for warning in found.warnings],
    }


def of_steps(step: Ints, which: Ints) -> Ints:
    """Places whose step is among the chosen."""
    return np.flatnonzero(np.isin(step, which) & (step != UNKNOWN))
