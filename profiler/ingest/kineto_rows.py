"""Events -> columns -> the tables of a run file.

    with Rows(store, notes) as rows:
        rows.add(events)

GPU rows carry no process: they get the first one that made itself known on the host,
kineto_finish.sql corrects that where it was another one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType

from stepprof.profiler.ingest.kineto_columns import Columns, Loader
from stepprof.profiler.ingest.kineto_events import MISSING, Event
from stepprof.profiler.ingest.kineto_forms import form_keys, number
from stepprof.profiler.ingest.kineto_pairs import Pairs
from stepprof.profiler.store import Store

API_SUFFIX = re.compile(r"(_ptsz|_ptds|_v\d+)+$")
COPY = re.compile(r"[HDAP]to[HDAP]")
COPY_KINDS = dict(HtoD=1, DtoH=2, HtoA=3, AtoH=4, AtoA=5, AtoD=6, DtoA=7, DtoD=8, HtoH=9, PtoP=10)
STEP_MARK = "ProfilerStep#"
STREAM_WAIT = "Stream Wait Event"
WAIT = ("context", "stream", "correlation", "wait_event", "wait_stream", "wait_record")
RECORD = ("context", "stream", "correlation", "event")


class Ids(dict[str, int]):
    """Texts numbered in the order of their first use."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


class Numbers(dict["int | str", int]):
    """Process and thread ids as integers: digits as they are, other texts numbered from `first` on."""

    def __init__(self, first: int, most: int) -> None:
        super().__init__()
        self._next, self._most = first, most

    def __missing__(self, key: int | str) -> int:
        value = number(key)
        if value == MISSING or abs(value) > self._most:
            value, self._next = self._next, self._next + 1
        self[key] = value
        return value


class Rows:
    """Takes events of any kind; keeps what is a row of the run."""

    def __init__(self, store: Store, notes: Counter[str], cpu_ops: bool = False) -> None:
        self.names = Ids()
        self.processes = Numbers(first=2_000_000_000, most=1_999_999_999)
        self.threads = Numbers(first=1 << 60, most=(1 << 60) - 1)
        self.process: int | None = None  # the first one seen on the host
        self.callers: set[int] = set()
        self.waits: list[tuple[int, ...]] = []
        self.records: list[tuple[int, ...]] = []
        self._api_names: dict[str, str] = {}
        self._pairs = Pairs(notes)
        self._loader = Loader(store)
        self._handlers = self._by_category() | ({"cpu_op": self._cpu_ops} if cpu_ops else {})

    def _by_category(self) -> dict[str, Callable[[list[Event]], None]]:
        return {
            "kernel": self._kernels, "Kernel": self._kernels,
            "gpu_memcpy": self._memcpys, "Memcpy": self._memcpys,
            "gpu_memset": self._memsets, "Memset": self._memsets,
            "cuda_runtime": self._calls, "cuda_driver": self._calls, "Runtime": self._calls,
            "user_annotation": self._ranges, "cpu_op": self._step_marks, "Operator": self._step_marks,
            "cuda_sync": self._stream_waits, "cuda_event": self._event_records,
        }  # fmt: skip

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._ranges(self._pairs.left_open(), left_open=True)
        self._loader.end(good=kind is None, process=self.process or 0)

    def add(self, events: list[Event]) -> None:
        """Keep the rows among these events."""
        groups: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            groups[event.cat if event.ph == "X" else event.ph].append(event)
        for key in groups.keys() & self._handlers.keys():
            self._handlers[key](groups[key])
        if "B" in groups or "E" in groups:
            self._add_pairs(self._pairs.add(events))
        self._loader.flush_full(self.process or 0)

    def _add_pairs(self, events: list[Event]) -> None:
        for event in events:
            self._handlers.get(event.cat, self._ranges)([event])

    def _gpu(self, columns: Columns, events: list[Event]) -> None:
        """What all GPU rows have."""
        columns.extend(
            form=[*map(columns.forms.__getitem__, form_keys(events))],
            correlation=[event.args.correlation for event in events],
            graph_node=[event.args.graph_node for event in events],
        )
        self._timed(columns, events, [event.name for event in events])

    def _timed(self, columns: Columns, events: list[Event], names: list[str]) -> None:
        columns.extend(name_id=[*map(self.names.__getitem__, names)])
        columns.extend_times([event.ts for event in events], [event.dur for event in events])

    def _kernels(self, events: list[Event]) -> None:
        self._gpu(self._loader.kernels, events)

    def _memcpys(self, events: list[Event]) -> None:
        self._gpu(self._loader.memcpys, events)
        self._loader.memcpys.extend(
            copy_kind=[_copy_kind(event.name) for event in events],
            bytes=[event.args.bytes for event in events],
            from_device=[event.args.from_device for event in events],
            to_device=[event.args.to_device for event in events],
        )

    def _memsets(self, events: list[Event]) -> None:
        self._gpu(self._loader.memsets, events)
        self._loader.memsets.extend(bytes=[event.args.bytes for event in events])

    def _calls(self, events: list[Event]) -> None:
        columns = self._loader.calls
        process = self._host(columns, events)
        columns.extend(correlation=[event.args.correlation for event in events])
        self._timed(columns, events, [self._api_name(event.name) for event in events])
        self.callers.update(process)

    def _host(self, columns: Columns, events: list[Event]) -> list[int]:
        process = [self.processes[event.pid] for event in events]
        if process and self.process is None:
            self.process = process[0]
        columns.extend(process=process, thread=[self.threads[event.tid] for event in events])
        return process

    def _api_name(self, name: str) -> str:
        if name not in self._api_names:
            self._api_names[name] = API_SUFFIX.sub("", name)
        return self._api_names[name]

    def _ranges(self, events: list[Event], left_open: bool = False) -> None:
        columns = self._loader.ranges
        self._host(columns, events)
        columns.extend(left_open=[int(left_open)] * len(events))
        self._timed(columns, events, [event.name for event in events])

    def _step_marks(self, events: list[Event]) -> None:
        """Old traces mark steps with an operator."""
        if self.process is None:
            self.process = self.processes[events[0].pid]
        marks = [event for event in events if event.name.startswith(STEP_MARK)]
        if marks:
            self._ranges(marks)

    def _cpu_ops(self, events: list[Event]) -> None:
        """Kept where they may have to stand in for GPU ops (kineto_stand_in)."""
        self._host(self._loader.cpu_ops, events)
        self._timed(self._loader.cpu_ops, events, [event.name for event in events])

    def _stream_waits(self, events: list[Event]) -> None:
        self.waits += [_row(event, WAIT) for event in events if event.name == STREAM_WAIT]

    def _event_records(self, events: list[Event]) -> None:
        self.records += [_row(event, RECORD) for event in events]


def _copy_kind(name: str) -> int:
    found = COPY.search(name)
    return COPY_KINDS.get(found[0], MISSING) if found else MISSING


def _row(event: Event, fields: Iterable[str]) -> tuple[int, ...]:
    return tuple(number(getattr(event.args, key)) for key in fields)
