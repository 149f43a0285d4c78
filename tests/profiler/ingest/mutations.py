"""Ways to damage a trace, as hypothesis strategies: bytes of any file, cells and columns of an nsys export.

damaged = mutated(content, data.draw(byte_edits()))
altered(path, statements of data.draw(cell_edits(columns)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from tests.profiler.ingest.six_steps import six_steps
from tests.trace_builder import NsysExport, global_id


@dataclass(frozen=True)
class Edit:
    """One change at a place of the file (a share of its length), over some bytes."""

    way: str
    place: float
    length: int
    noise: bytes

    def of(self, content: bytes) -> bytes:
        at = int(self.place * len(content))
        end = min(at + self.length, len(content))
        return (
            content[:at] + WAYS[self.way](content[at:end], self.noise) + (b"" if self.way == "cut" else content[end:])
        )


WAYS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "replace": lambda old, noise: (noise * (len(old) // len(noise) + 1))[: len(old)],
    "flip": lambda old, noise: bytes(byte ^ noise[i % len(noise)] for i, byte in enumerate(old)),
    "zero": lambda old, noise: bytes(len(old)),
    "delete": lambda old, noise: b"",
    "insert": lambda old, noise: noise + old,
    "twice": lambda old, noise: old + old,
    "cut": lambda old, noise: b"",
}


def byte_edits() -> st.SearchStrategy[list[Edit]]:
    """One to four edits; single bytes and whole pages alike."""
    length = st.one_of(st.integers(1, 8), st.integers(1, 5000))
    edit = st.builds(Edit, st.sampled_from(sorted(WAYS)), st.floats(0, 1), length, st.binary(min_size=1, max_size=40))
    return st.lists(edit, min_size=1, max_size=4)


def mutated(content: bytes, edits: list[Edit]) -> bytes:
    """The content after the edits."""
    for edit in edits:
        content = edit.of(content)
    return content


def cell_edits(tables: dict[str, list[str]]) -> st.SearchStrategy[str]:
    """SQL that changes some cells, rows or columns of the tables."""
    columns = [(table, column) for table, names in tables.items() for column in names]
    place, other = st.sampled_from(columns), st.sampled_from(columns)
    some = st.sampled_from(["1", "rowid = 3", "rowid % 7 = 2", "rowid > 20"])
    return st.lists(st.builds(_statement, place, other, some, VALUES, st.integers(0, 9)), min_size=1, max_size=5).map(
        ";".join
    )


VALUES = st.one_of(
    st.sampled_from(["NULL", "0", "-1", "1", "''", "'x'", "x'00ff'", "1e300", "0.5", "9e18", "zeroblob(3)"]),
    st.sampled_from([-(2**63), 2**63 - 1, 2**62, 2**31, 2**32, -(2**31) - 1, 10**15, 65536]).map(str),
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-100, 100_000).map(str),
)


def _statement(place: tuple[str, str], other: tuple[str, str], some: str, value: str, way: int) -> str:
    (table, column), (source, _) = place, other
    if way == 0:
        return f'DELETE FROM "{table}" WHERE {some}'
    if way == 1:
        return f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE {some}'
    if way == 2:
        return f'UPDATE "{table}" SET "{column}" = (SELECT rowid FROM "{source}" LIMIT 1) WHERE {some}'
    if way == 3:
        return f'UPDATE "{table}" SET "{column}" = "{column}" + ({value}) WHERE {some}'
    return f'UPDATE "{table}" SET "{column}" = {value} WHERE {some}'


def rich_export() -> NsysExport:
    """Six steps, then four graph replays on two cards with copies, events, a sidecar call and layer marks."""
    export = six_steps()
    for node in range(1, 7):
        export.range(f"layer/{node % 2}/attention", 70_000 + 10 * node, 70_009 + 10 * node)
        export.node(node, 70_005 + 10 * node).node(10 + node, 70_100, node)
    for step in range(6, 10):
        _replay(export, step, 100_000 + 20_000 * step)
    export.add("ANALYSIS_DETAILS", globalVid=1 << 48, duration=400_000, startTime=5, stopTime=400_005)
    export.add("TARGET_INFO_GPU", id=0, name="Big", smCount=132).add("TARGET_INFO_GPU", id=1, name="Small", smCount=80)
    return export.add("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=1, pid=100)


def _replay(export: NsysExport, step: int, at: int) -> None:
    export.range(f"step/{step}", at, at + 15_000, registered=True).range("sidecar/3 rows=2 experts=1", at + 10, at + 90)
    export.api("cudaGraphLaunch_v10000", at + 20, at + 60, correlation=step * 100)
    for node in range(1, 7):
        card, start = int(node in (3, 4)), at + 1_000 * node
        export.kernel(f"k{node}", start, start + 950, correlation=step * 100, graphNodeId=10 + node, deviceId=card)
    export.api("cudaEventRecord_v3020", at + 70, at + 75, correlation=step * 100 + 1)
    export.api("cudaStreamWaitEvent_v3020", at + 80, at + 85, correlation=step * 100 + 2)
    place = {"deviceId": 0, "contextId": 1, "globalPid": global_id(100), "eventId": 5, "eventSyncId": step}
    export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", streamId=7, correlationId=step * 100 + 1, **place)
    export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", streamId=8, syncType=2, correlationId=step * 100 + 2, **place)
    export.api("cudaMemcpyAsync_v3020", at + 90, at + 95, correlation=step * 100 + 3)
    export.memcpy(10, at + 8_000, at + 8_400, correlation=step * 100 + 3, streamId=8, bytes=64, dstDeviceId=1)
    export.memset(at + 8_500, at + 8_600, correlation=step * 100 + 3)


def table_columns(export: NsysExport, path: Path) -> dict[str, list[str]]:
    """The columns of each table that the export writes."""
    export.write(path)
    return {table: export._columns[table] for table in export._rows}
