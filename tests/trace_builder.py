"""Traces made in code: small integer times that a reader can add up.

`TraceBuilder` fills the tables of schema.sql, for analyses; `NsysExport` writes an
nsys SQLite export, for the ingest. Every method returns its builder.

    t = TraceBuilder().range("step/0", 0, 100)
    t.kernel("gemm", 20, 30, call=(5, 8))
    g = t.graph_launch(call=(10, 15))
    g.kernel("a", 40, 50, node=1).kernel("b", 52, 60, node=2)
    store = t.edge(1, 2).store()

Ops get the ids 0, 1, 2 … in the order in which they are added.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from stepprof.profiler.store import SCHEMA, SCHEMA_VERSION, Store

Span = tuple[int, int]
Cells = dict[str, Any]
COPY_KINDS = {"Host-to-Device": 1, "Device-to-Host": 2, "Device-to-Device": 8, "Peer-to-Peer": 10}


class _Ops:
    """The three kinds of op; `_op` says what issues them. Further columns of `op` go by name."""

    def kernel(self, name: str, start: int, end: int, **columns: Any) -> Self:
        return self._op("cudaLaunchKernel", activity="kernel", name=name, start_ns=start, end_ns=end, **columns)

    def memcpy(self, way: str, start: int, end: int, **columns: Any) -> Self:
        columns = {"activity": "memcpy", "name": f"[CUDA memcpy {way}]", "copy_kind": COPY_KINDS[way]} | columns
        return self._op("cudaMemcpyAsync", start_ns=start, end_ns=end, **columns)

    def memset(self, start: int, end: int, **columns: Any) -> Self:
        columns = {"activity": "memset", "name": "[CUDA memset]"} | columns
        return self._op("cudaMemsetAsync", start_ns=start, end_ns=end, **columns)

    def _op(self, api: str, **columns: Any) -> Self:
        raise NotImplementedError


class TraceBuilder(_Ops):
    """A run in memory. `thread` and `process` are those of the host call, `call` its (start, end)."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Cells]] = defaultdict(list)
        self._names: dict[str, int] = {}
        self._correlation = 0

    def add(self, table: str, **columns: Any) -> Self:
        """A row of any table of schema.sql; `name` becomes its name_id where the table has one."""
        if table in ("op", "api", "range"):
            columns["name_id"] = self._names.setdefault(columns.pop("name"), len(self._names) + 1)
        self._rows[table].append(columns)
        return self

    def api(self, name: str, start: int, end: int, *, thread: int = 1, process: int = 0, **columns: Any) -> Self:
        columns = {"thread": thread, "process": process, "result": 0} | columns
        return self.add("api", name=name, start_ns=start, end_ns=end, **columns)

    def graph_launch(self, call: Span | None = None, *, thread: int = 1, process: int = 0) -> GraphLaunch:
        """One replay of a graph: its ops share one correlation."""
        correlation = self._call("cudaGraphLaunch", call, thread, process)
        return GraphLaunch(self, {"correlation": correlation, "process": process})

    def range(self, name: str, start: int, end: int, *, thread: int = 1, process: int = 0, **columns: Any) -> Self:
        columns = {"nested": True, "left_open": False, "range_id": len(self._rows["range"])} | columns
        return self.add("range", name=name, start_ns=start, end_ns=end, thread=thread, process=process, **columns)

    def capture_node(self, node: int, at: int, *, thread: int = 1, process: int = 0) -> Self:
        """A node made while a graph was captured, at a moment of the thread that captured it."""
        return self.add("graph_node", node=node, start_ns=at, thread=thread, process=process)

    def clone(self, node: int, of: int, *, at: int = 0, thread: int = 1, process: int = 0) -> Self:
        """A node of an executable graph, cloned from another."""
        return self.add("graph_node", node=node, origin=of, start_ns=at, thread=thread, process=process)

    def edge(self, a: int, b: int, kind: str = "full", **columns: Any) -> Self:
        """A dependency between nodes made at capture."""
        columns = {"source": "recorded", "confidence": 1.0} | columns
        return self.add("graph_edge", from_node=a, to_node=b, kind=kind, **columns)

    def event_record(self, stream: int, event: int, sync_id: int | None = None, *, at: Span, **where: Any) -> Self:
        where |= {"stream": stream, "event": event, "sync_id": sync_id}
        return self._event("event_record", "cudaEventRecord", at, where)

    def event_wait(self, stream: int, event: int, sync_id: int | None = None, *, at: Span, **where: Any) -> Self:
        where |= {"stream": stream, "event": event, "sync_id": sync_id}
        return self._event("event_wait", "cudaStreamWaitEvent", at, where)

    def step_fact(self, step: int, **columns: Any) -> Self:
        """`class_` stands for the column `class`."""
        return self.add("step_fact", step=step, **{key.rstrip("_"): value for key, value in columns.items()})

    def call_fact(self, step: int, layer: int, **columns: Any) -> Self:
        return self.add("call_fact", step=step, layer=layer, **columns)

    def store(self) -> Store:
        """The rows so far as an open run in memory."""
        con = duckdb.connect()
        con.execute("".join(s for s in SCHEMA.read_text().splitlines(True) if s[:7] != "COMMENT"))  # which are slow
        for table, rows in (self._rows | self._implied()).items():
            _insert(con, table, rows)
        return Store(con, Path("built.duckdb"))

    def _op(self, api: str, **columns: Any) -> Self:
        call, thread = columns.pop("call", None), columns.pop("thread", 1)
        row = {"op_id": len(self._rows["op"]), "process": 0, "device": 0, "stream": 7} | columns
        row = {"context": row["device"] + 1} | row
        if "correlation" not in row:
            row["correlation"] = self._call(api, call, thread, row["process"])
        return self.add("op", **row)

    def _call(self, api: str, call: Span | None, thread: int, process: int) -> int:
        """A fresh correlation; its API row only where a call is given."""
        self._correlation += 1
        if call is not None:
            self.api(api, *call, thread=thread, process=process, correlation=self._correlation)
        return self._correlation

    def _event(self, table: str, api: str, at: Span, columns: Cells) -> Self:
        thread = columns.pop("thread", 1)
        columns = {"process": 0, "context": columns.pop("device", 0) + 1} | columns
        return self.add(table, correlation=self._call(api, at, thread, columns["process"]), **columns)

    def _implied(self) -> dict[str, list[Cells]]:
        """Rows that follow from others: names, processes, devices, origins of graph nodes."""
        processes = {row["process"] for t in ("op", "api", "range", "graph_node") for row in self._rows[t]}
        devices = {row["device"] for row in self._rows["op"]} - {row["device"] for row in self._rows["device"]}
        facts = {"schema_version": str(SCHEMA_VERSION), "format": "nsys-sqlite", "tool": "nsys"}
        return {
            "name": [{"name_id": i, "text": text} for text, i in self._names.items()],
            "clock": [{"clock": 0, "source": "session_start"}],
            "process": [{"process": p, "pid": p, "clock": 0} for p in sorted(processes)],
            "device": self._rows["device"] + [{"device": d, "name": f"Test GPU {d}"} for d in sorted(devices)],
            "run": [{"key": key, "value": value} for key, value in facts.items()] + self._rows["run"],
            "op": [self._with_origin(row) for row in self._rows["op"]],
        }

    def _with_origin(self, row: Cells) -> Cells:
        if row.get("graph_node") is None or "origin_node" in row:
            return row
        clones = {(r["process"], r["node"]): r["origin"] for r in self._rows["graph_node"] if r.get("origin")}
        origin = row["graph_node"]
        while (row["process"], origin) in clones:
            origin = clones[row["process"], origin]
        return row | {"origin_node": origin}


class GraphLaunch(_Ops):
    """The ops of one replay; `node` is the node of the executable graph, or of the capture where nothing was cloned."""

    def __init__(self, trace: TraceBuilder, shared: Cells) -> None:
        self._trace, self._shared = trace, shared

    def _op(self, api: str, *, node: int, **columns: Any) -> Self:
        self._trace._op(api, graph_node=node, **self._shared | columns)
        return self


def _insert(con: duckdb.DuckDBPyConnection, table: str, rows: list[Cells]) -> None:
    if rows:
        columns = dict.fromkeys(key for row in rows for key in row)
        con.register("built", pa.table({c: [row.get(c) for row in rows] for c in columns}))
        con.execute(f"INSERT INTO {table} BY NAME SELECT * FROM built")
        con.unregister("built")


# table -> its columns, in the order of nsys 2025.3; TEXT and REAL ones are named below
TIMES, PLACE = "start end", "deviceId contextId streamId correlationId globalPid"
NSYS_TABLES = {
    "StringIds": "id value",
    "META_DATA_EXPORT": "name value",
    "EXPORT_META_DATA": "name value",
    "ANALYSIS_DETAILS": "globalVid duration startTime stopTime",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
    "TARGET_INFO_GPU": "vmId id name busLocation l2CacheSize memoryBandwidth smCount",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{TIMES} {PLACE} demangledName shortName launchType registersPerThread gridX gridY gridZ"
    " blockX blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{TIMES} {PLACE} bytes copyKind srcDeviceId dstDeviceId graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{TIMES} {PLACE} value bytes graphNodeId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{TIMES} eventClass globalTid correlationId nameId returnValue",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{TIMES} {PLACE} syncType eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": f"{PLACE} eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{TIMES} {PLACE} graphId graphExecId",
    "CUDA_GRAPH_NODE_EVENTS": f"{TIMES} eventClass globalTid nameId graphNodeId originalGraphNodeId",
    "CUDA_GRAPH_EVENTS": f"{TIMES} eventClass globalTid nameId graphId originalGraphId graphExecId",
    "NVTX_EVENTS": f"{TIMES} eventType rangeId category color text globalTid endGlobalTid textId domainId uint64Value"
    " int64Value doubleValue uint32Value int32Value floatValue jsonTextId jsonText",
}
OLD_TABLES = {"CUDA_GRAPH_EVENTS": NSYS_TABLES["CUDA_GRAPH_NODE_EVENTS"]}
TEXTS, REALS = ("text", "name", "jsonText", "utcTime", "localTime"), ("doubleValue", "floatValue")


def global_id(pid: int, tid: int = 0) -> int:
    """nsys' globalTid, or globalPid where tid is 0."""
    return 1 << 48 | pid << 24 | tid


class NsysExport:
    """An nsys SQLite export; a table exists once it has a row. Cells go by their nsys names."""

    def __init__(self, schema: str = "new") -> None:
        old = schema == "old"
        tables = NSYS_TABLES | (OLD_TABLES if old else {})
        self._columns = {table: columns.split() for table, columns in tables.items()}
        self._rows: dict[str, list[Cells]] = defaultdict(list)
        self._strings: dict[str, int] = {}
        self._statements: list[str] = []
        self._node_table = "CUDA_GRAPH_EVENTS" if old else "CUDA_GRAPH_NODE_EVENTS"
        meta = "EXPORT_META_DATA" if old else "META_DATA_EXPORT"
        self.add(meta, name="EXPORT_SCHEMA_VERSION", value="3.0.0" if old else "3.20.3")
        self.add(meta, name="EXPORT_PRODUCT_VERSION", value="2022.4.2" if old else "2025.3.2")

    def add(self, table: str, **cells: Any) -> Self:
        """A row of any table of NSYS_TABLES."""
        self._rows[table].append(cells)
        return self

    def columns(self, table: str, names: str) -> Self:
        """The table exists, with exactly these columns in this order; other cells are left out."""
        self._columns[table], self._rows[table] = names.split(), self._rows[table]
        return self

    def sql(self, statement: str) -> Self:
        """A statement to run once everything is written."""
        self._statements.append(statement)
        return self

    def string(self, text: str) -> int:
        """The id of a string in StringIds."""
        return self._strings.setdefault(text, len(self._strings) + 1)

    def kernel(self, name: str, start: Any, end: Any, *, correlation: int | None = 1, **cells: Any) -> Self:
        names = dict.fromkeys(["demangledName", "shortName"], self.string(name))
        return self._op("KERNEL", start, end, correlation, names | cells)

    def memcpy(self, kind: int, start: Any, end: Any, *, correlation: int | None = 1, **cells: Any) -> Self:
        return self._op("MEMCPY", start, end, correlation, {"copyKind": kind} | cells)

    def memset(self, start: Any, end: Any, *, correlation: int | None = 1, **cells: Any) -> Self:
        return self._op("MEMSET", start, end, correlation, cells)

    def api(self, name: str, start: Any, end: Any, *, correlation: int | None = 1, **cells: Any) -> Self:
        row = {"start": start, "end": end, "correlationId": correlation, "nameId": self.string(name), "returnValue": 0}
        return self.add("CUPTI_ACTIVITY_KIND_RUNTIME", **row | _of_thread(cells) | cells)

    def range(self, name: str, start: Any, end: Any, *, registered: bool = False, **cells: Any) -> Self:
        """A push/pop range; eventType=60 is start/end, `end_tid` the thread that ended it."""
        label = {"textId": self.string(name)} if registered else {"text": name}
        row = {"start": start, "end": end, "eventType": 59, "domainId": 0} | label
        row |= {"endGlobalTid": global_id(cells.get("pid", 100), cells.pop("end_tid"))} if "end_tid" in cells else {}
        return self.add("NVTX_EVENTS", **row | _of_thread(cells) | cells)

    def node(self, node: int, start: int, origin: int | None = None, **cells: Any) -> Self:
        """A creation row of a graph node."""
        row = {"start": start, "end": start, "graphNodeId": node, "originalGraphNodeId": origin}
        return self.add(self._node_table, **row | _of_thread(cells) | cells)

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        strings = [{"id": i, "value": text} for text, i in self._strings.items()]
        rows = self._rows | {"StringIds": self._rows.get("StringIds", []) + strings}
        con = sqlite3.connect(path)
        for table in rows:
            names = self._columns[table]
            typed = ", ".join(f'"{c}" {_sql_type(table, c)}' for c in names)
            con.execute(f"CREATE TABLE {table} ({typed})")
            cells = [[row.get(c) for c in names] for row in rows[table]]
            con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", cells)
        for statement in self._statements:
            con.execute(statement)
        con.commit()
        con.close()
        return path

    def _op(self, table: str, start: Any, end: Any, correlation: int | None, cells: Cells) -> Self:
        row = {"start": start, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": correlation}
        return self.add(f"CUPTI_ACTIVITY_KIND_{table}", globalPid=global_id(cells.pop("pid", 100)), **row | cells)


def _of_thread(cells: Cells) -> Cells:
    """`pid` and `tid`, taken out of the cells, as a globalTid."""
    return {"globalTid": global_id(cells.pop("pid", 100), cells.pop("tid", 1))}


def _sql_type(table: str, column: str) -> str:
    if column in TEXTS or (column == "value" and "MEMSET" not in table):
        return "TEXT"
    return "REAL" if column in REALS else "INTEGER"
