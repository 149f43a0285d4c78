"""Which tables and columns of an nsys export are read, whatever its version.

Absent tables are empty and absent columns are NULL, so nothing after this module
asks for a version. Every raw table has one fixed set of columns; `insert` says
where its rows go.
"""

from __future__ import annotations

from dataclasses import dataclass

INT, TEXT = "int", "text"
PID = "coalesce((globalPid >> 24) & 16777215, 0)"
TID = "globalTid & 16777215"
TID_PID = "coalesce((globalTid >> 24) & 16777215, 0)"


@dataclass(frozen=True)
class RawTable:
    """One raw table: the first of `sources` that exists and has the column `needs`."""

    name: str
    sources: tuple[str, ...]
    ints: tuple[str, ...]
    texts: tuple[str, ...] = ()
    needs: str | None = None
    select: str | None = None  # for tables that go straight to their place

    @property
    def columns(self) -> dict[str, str]:
        """Column name -> int or text, in a fixed order."""
        return dict.fromkeys(self.ints, INT) | dict.fromkeys(self.texts, TEXT)

    @property
    def load_sql(self) -> str:
        """The statement that consumes `batch`, an Arrow stream of `columns`."""
        if self.select is not None:
            return self.select
        types = {INT: "BIGINT", TEXT: "VARCHAR"}  # said aloud, since an empty table comes without its types
        cells = [f'TRY_CAST("{c}" AS {types[kind]}) AS "{c}"' for c, kind in self.columns.items()]
        return f"CREATE TEMP TABLE {self.name} AS SELECT {', '.join(cells)} FROM batch"

    def pick(self, tables: dict[str, list[str]]) -> str | None:
        """The source table in an export with these tables, None where it has none."""
        for source in self.sources:
            if source in tables and (self.needs is None or self.needs in tables[source]):
                return source
        return None


SMALL = (
    RawTable("raw_string", ("StringIds",), ("id",), ("value",)),
    RawTable(
        "raw_nvtx",
        ("NVTX_EVENTS",),
        (
            "start",
            "end",
            "eventType",
            "category",
            "globalTid",
            "endGlobalTid",
            "textId",
            "domainId",
            "uint64Value",
            "int64Value",
            "uint32Value",
            "int32Value",
            "jsonTextId",
        ),
        ("text", "doubleValue", "floatValue", "jsonText"),
    ),
    # CUDA_GRAPH_EVENTS holds node events in older exports and graph events in newer ones
    RawTable(
        "raw_graph_node",
        ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS"),
        ("start", "globalTid", "graphNodeId", "originalGraphNodeId"),
        needs="graphNodeId",
    ),
    RawTable("raw_graph_trace", ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",), ("start", "end", "correlationId", "globalPid")),
    RawTable(
        "raw_sync",
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",),
        ("contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId", "eventSyncId"),
    ),
    RawTable(
        "raw_event",
        ("CUPTI_ACTIVITY_KIND_CUDA_EVENT",),
        ("contextId", "streamId", "correlationId", "globalPid", "eventId", "eventSyncId"),
    ),
    RawTable("raw_cuda_device", ("TARGET_INFO_CUDA_DEVICE",), ("gpuId", "cudaId", "pid")),
    RawTable(
        "raw_gpu",
        ("TARGET_INFO_GPU",),
        ("id", "smCount", "memoryBandwidth", "l2CacheSize"),
        ("name", "uuid", "busLocation"),
    ),
    RawTable("raw_session", ("TARGET_INFO_SESSION_START_TIME",), ("utcEpochNs",)),
    RawTable("raw_details", ("ANALYSIS_DETAILS",), ("duration", "stopTime")),
    RawTable("raw_meta", ("META_DATA_EXPORT", "EXPORT_META_DATA"), (), ("name", "value")),
)

# every op goes through this one statement; the columns a table lacks are NULL
_OP_SQL = """
INSERT INTO op
SELECT row_number() OVER () + (SELECT coalesce(max(op_id), 0) FROM op), '{activity}', {pid},
    coalesce(d.device, deviceId, -1), contextId, streamId, correlationId, start, "end",
    coalesce({name}, -98), graphId, graphNodeId, coalesce(o.origin, graphNodeId), {kernel}, {copy}
FROM batch b
LEFT JOIN _device d ON d.process = {pid} AND d.cuda_id = b.deviceId
LEFT JOIN _origin o ON o.process = {pid} AND o.node = b.graphNodeId
{joins}
"""
_OP_INTS = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId", "graphId")
_SHAPE = ("launchType", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread")
_KERNEL = ", ".join(_SHAPE) + ", coalesce(staticSharedMemory, 0) + coalesce(dynamicSharedMemory, 0)"
_NO_KERNEL = ", ".join(["NULL"] * 9)
_COPY_ENDS = f"""
LEFT JOIN _device src ON src.process = {PID} AND src.cuda_id = b.srcDeviceId
LEFT JOIN _device dst ON dst.process = {PID} AND dst.cuda_id = b.dstDeviceId
"""


def _ops(activity: str, name: str, kernel: str, copy: str, joins: str = "") -> str:
    return _OP_SQL.format(activity=activity, pid=PID, name=name, kernel=kernel, copy=copy, joins=joins)


BIG = (
    RawTable(
        "raw_kernel",
        ("CUPTI_ACTIVITY_KIND_KERNEL",),
        (*_OP_INTS, *_SHAPE, "demangledName", "shortName", "staticSharedMemory", "dynamicSharedMemory"),
        select=_ops("kernel", "demangledName, shortName", _KERNEL, "NULL, NULL, NULL, NULL"),
    ),
    RawTable(
        "raw_memcpy",
        ("CUPTI_ACTIVITY_KIND_MEMCPY",),
        (*_OP_INTS, "bytes", "copyKind", "srcDeviceId", "dstDeviceId"),
        select=_ops(
            "memcpy",
            "CASE WHEN copyKind BETWEEN 1 AND 13 THEN -copyKind ELSE -99 END",
            _NO_KERNEL,
            "bytes, copyKind, coalesce(src.device, srcDeviceId), coalesce(dst.device, dstDeviceId)",
            _COPY_ENDS,
        ),
    ),
    RawTable(
        "raw_memset",
        ("CUPTI_ACTIVITY_KIND_MEMSET",),
        (*_OP_INTS, "bytes"),
        select=_ops("memset", "-100", _NO_KERNEL, "bytes, NULL, NULL, NULL"),
    ),
    RawTable(
        "raw_api",
        ("CUPTI_ACTIVITY_KIND_RUNTIME",),
        ("start", "end", "globalTid", "correlationId", "nameId", "returnValue"),
        select=f"""
INSERT INTO api SELECT {TID_PID}, {TID}, correlationId, start, "end", coalesce(nameId, -98), returnValue FROM batch
""",
    ),
)
