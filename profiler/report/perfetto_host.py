"""Perfetto tracks of the host: API calls and ranges by thread, and the counters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepprof.analyses.lanes import interval_lanes
from stepprof.profiler.report.perfetto_track import HOSTS, Event, Track, Tracks
from stepprof.profiler.store import Store

CALLS = "SELECT process, coalesce(thread, -1), text, start_ns, end_ns FROM api JOIN name USING (name_id)"
RANGES = "SELECT process, coalesce(thread, -1), text, start_ns, end_ns FROM range JOIN name USING (name_id)"
SHOWN = "start_ns < ? AND end_ns > ?"
STRIDE = 50  # tracks of a thread: its calls and nested ranges, then ranges that nest in nothing


def host_tracks(store: Store, base: int, until: int) -> dict[tuple[int, int], Track]:
    """Each thread that called or marked something while the chosen steps ran, and its track."""
    both = "(SELECT process, thread, start_ns, end_ns FROM api UNION ALL SELECT process, thread, start_ns, end_ns FROM range)"
    threads = store.rows(
        f"SELECT DISTINCT process, coalesce(thread, -1) FROM {both} WHERE {SHOWN} ORDER BY ALL", until, base
    )
    return {(p, t): (HOSTS + p, i * STRIDE) for i, (p, t) in enumerate(threads)}


def host_events(
    tracks: Tracks, store: Store, hosts: dict[tuple[int, int], Track], base: int, until: int
) -> Iterator[Event]:
    """API calls and ranges; those that reach beyond the chosen steps are shown whole."""
    for what, sql in (("call", f"{CALLS} WHERE {SHOWN}"), ("range", f"{RANGES} WHERE nested AND {SHOWN}")):
        for process, thread, name, start, end in store.rows(f"{sql} ORDER BY start_ns, end_ns DESC", until, base):
            group, row = hosts[process, thread]
            track = tracks.track(group, f"host process {process}", row, f"thread {row // STRIDE}")
            yield tracks.slice(track, name, what, start, end)
    loose = store.rows(f"{RANGES} WHERE NOT nested AND {SHOWN} ORDER BY start_ns, end_ns", until, base)
    ends = np.array([row[3:] for row in loose], dtype=np.int64).reshape(-1, 2)
    for (process, thread, name, start, end), lane in zip(loose, interval_lanes(*ends.T).tolist(), strict=True):
        group, row = hosts[process, thread]
        track = tracks.track(group, f"host process {process}", row + 1 + lane, f"ranges ({lane + 1})")
        yield tracks.slice(track, name, "range", start, end)


def counter_events(tracks: Tracks, store: Store, base: int, until: int) -> Iterator[Event]:
    """Clocks, power and whatever else was sampled."""
    sql = "SELECT time_ns, device, name, value FROM counter WHERE time_ns BETWEEN ? AND ? ORDER BY time_ns"
    for time, device, name, value in store.rows(sql, base, until):
        yield tracks.counter(name if device is None else f"card {device} {name}", time, value)
