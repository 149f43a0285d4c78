"""Events of a Kineto trace with processes and threads numbered anew, on a clock that begins with the first of them.

    events = scrubbed_events(events, removed)

Host processes get numbers after those of the GPUs, which share the field `pid` with them. Names of processes
and threads are written anew, and of the arguments only known ones are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stepprof.profiler.ingest.kineto_events import MISSING, Args, exact_ns
from stepprof.profiler.ingest.kineto_forms import number
from stepprof.profiler.scrub_ids import numbered

Event = dict[str, Any]
ON_GPU = {
    *("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"),
    *("gpu_user_annotation", "cuda_sync", "cuda_event", "cuda_profiler_range"),
}
KEPT_ARGS = {field.encode_name for field in msgspec.structs.fields(Args)} | {
    *("External id", "external id", "cbid", "Ev Idx", "Record function id", "Sequence number", "Fwd thread id"),
    *("Op count", "Python id", "Python parent id", "kind", "kernel", "cuda_sync_kind", "fromContext", "toContext"),
    *("blocks per SM", "warps per SM", "est. achieved occupancy %", "memory bandwidth (GB/s)", "priority", "occupancy"),
    *("Input Dims", "Input Strides", "Input type", "Bytes", "Device Type", "Device Id", "Total Allocated"),
    *("Total Reserved", "Group size", "dtype", "In split size", "Out split size"),
    *("Collective name", "In msg nelems", "Out msg nelems"),
}
FIRST_GPU_TRACK = 5_000_000  # where Kineto sorts GPUs to
DAY_NS = 86_400_000_000_000


def scrubbed_events(events: list[Any], removed: list[str]) -> list[Any]:
    """The events that are kept; what they lack goes to `removed`."""
    known = [event for event in events if isinstance(event, dict) and event.get("ph") != "M"]
    tracks = _Tracks(known)
    zero = _first_time(known)
    lost: set[str] = set()
    moved = [_scrubbed(event, tracks, zero, lost) for event in known]
    removed += [f"arguments of events: {', '.join(sorted(lost))}"] if lost else []
    removed += ["process and thread ids (numbered anew) and their names", "the time of day"]
    return [*tracks.names(moved), *moved]


class _Tracks:
    """Which events lie on a GPU, and the new numbers of those that do not."""

    def __init__(self, events: list[Event]) -> None:
        self._gpu = {_track(event) for event in events if _on_gpu(event)}
        self._host = {_track(event) for event in events if event.get("ph") in ("X", "B", "E") and not _on_gpu(event)}
        self._gpu_pids, self._host_pids = {pid for pid, _ in self._gpu}, {pid for pid, _ in self._host}
        host = [_track(event) for event in events if not self.on_gpu(event)]
        first = max([number(pid) for pid in self._gpu_pids], default=-1) + 1
        self._pids = numbered({number(pid) for pid, _ in host} - {MISSING}, first=max(first, 1))
        self._tids = numbered({number(tid) for _, tid in host} - {MISSING})

    def on_gpu(self, event: Event) -> bool:
        """An arrow or a count lies where the rows of its track do."""
        track = _track(event)
        if _on_gpu(event) or track in self._host:
            return _on_gpu(event)
        return track in self._gpu or (track[0] in self._gpu_pids and track[0] not in self._host_pids)

    def place(self, event: Event) -> Event:
        """The new pid and tid of an event of the host; texts without a number stay."""
        pid, tid = _track(event)
        new = {"pid": self._pids.get(number(pid)), "tid": self._tids.get(number(tid))}
        return {key: value for key, value in new.items() if key in event and value is not None and value > 0}

    def names(self, moved: list[Event]) -> Iterator[Event]:
        """Names of the tracks in use, as a viewer shows them."""
        tracks = dict.fromkeys(_track(event) for event in moved if "pid" in event)
        for pid in dict.fromkeys(pid for pid, _ in tracks):
            gpu = pid in self._gpu_pids
            yield _name("process_name", pid, 0, name=f"{'GPU' if gpu else 'process'} {pid}")
            yield _name("process_labels", pid, 0, labels=f"GPU {pid}" if gpu else "CPU")
            yield _name("process_sort_index", pid, 0, sort_index=FIRST_GPU_TRACK * gpu + max(number(pid), 0))
        for pid, tid in tracks:
            yield _name("thread_name", pid, tid, name=f"{'stream' if pid in self._gpu_pids else 'thread'} {tid}")


def _name(kind: str, pid: int | str, tid: int | str, **args: int | str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": args}


def _on_gpu(event: Event) -> bool:
    category = event.get("cat")
    return isinstance(category, str) and category in ON_GPU


def _track(event: Event) -> tuple[int | str, int | str]:
    pid, tid = (value if isinstance(value, int | str) else "" for value in (event.get("pid"), event.get("tid")))
    return pid, tid


def _scrubbed(event: Event, tracks: _Tracks, zero: int, lost: set[str]) -> Event:
    result = event | ({} if tracks.on_gpu(event) else tracks.place(event))
    time = exact_ns(event.get("ts"))
    if "ts" in event and time:  # 0 stands for a time that was lost
        result["ts"] = (time - zero) / 1000 if time >= zero else None
    if isinstance(args := event.get("args"), dict):
        result["args"] = {key: value for key, value in args.items() if key in KEPT_ARGS}
        lost.update(args.keys() - KEPT_ARGS)
    return result


def _first_time(events: list[Event]) -> int:
    """The earliest time, ns; one more than a day before the middle is damage."""
    times = sorted(time for event in events if (time := exact_ns(event.get("ts"))) != MISSING)
    return next((time for time in times if time >= times[len(times) // 2] - DAY_NS), 0)
